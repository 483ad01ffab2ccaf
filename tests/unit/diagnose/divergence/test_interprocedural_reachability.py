"""Paths respect calls: a rank that enters a helper returns to its caller, and a stack is a fact."""

from __future__ import annotations

from ddpdoctor.diagnose.divergence.branch_points import BranchKind
from ddpdoctor.diagnose.divergence.divergences import divergences
from ddpdoctor.diagnose.engine import examine
from ddpdoctor.diagnose.facts import digest
from ddpdoctor.model.evidence import Evidence
from tests.unit.diagnose.builders import At, Doing, job
from tests.unit.diagnose.divergence.test_control_flow_diff import lines, ways

AT = At()

SHARED_HELPER = """\
def mean(value):
    dist.all_reduce(value)  # helper
    return value

class Meter:
    def add(self, value):
        self.total += value

def log(value):
    if noisy(value):
        mean(value)  # log

def evaluate(value):
    meter.add(value)
    mean(value)  # evaluate

def run():
    for batch in loader:  # next
        loss = model(batch)  # forward
        loss.backward()  # backward
        scale = loss.mean()
        meter.add(scale)
        log(loss)
        if due(batch):
            evaluate(loss)  # due
"""


def in_helper(*, standing: bool) -> Evidence:
    """Rank 1 reached the helper through `evaluate`; its stack shows that only while it is there."""
    loop, model, backward, helper, evaluate, due = lines(
        SHARED_HELPER, "next", "forward", "backward", "helper", "evaluate", "due"
    )
    batch = [AT.next(loop), AT.forward(model), AT.backward(backward)]
    usual = Doing([*batch, *batch, *batch], callers=(AT.line(loop, "run"),))
    alone = AT.all("all_reduce", helper)
    if standing:
        actor = Doing([*batch, *batch, alone], callers=(AT.line(evaluate, "evaluate"), AT.line(due, "run")))
    else:
        actor = Doing([*batch, *batch, alone, *batch], callers=(AT.line(loop, "run"),))
    return job([usual, actor, usual], code={AT.file: SHARED_HELPER})


def test_a_helper_was_entered_from_the_line_that_the_stack_shows() -> None:
    assert ways(in_helper(standing=True)) == [(BranchKind.CONDITION, "if due(batch)", "")]


def test_without_the_stack_either_caller_may_have_led_there() -> None:
    found = ways(in_helper(standing=False))
    assert {text for _, text, _ in found} == {"if noisy(value)", "if due(batch)"}


HOOK = """\
class Net:
    def forward(self, x):
        return self.stem(x)  # stem

class Watch:
    def __call__(self, module, inputs, output):
        peak = output.max()
        if peak > limit:
            dist.all_reduce(peak)  # hook

def run():
    for batch in loader:  # next
        loss = model(batch)  # forward
        loss.backward()  # backward
"""


def test_a_hook_is_called_where_the_stack_shows_it() -> None:
    loop, model, backward, stem, hook = lines(HOOK, "next", "forward", "backward", "stem", "hook")
    batch = [AT.next(loop), AT.forward(model), AT.backward(backward)]
    usual = Doing([*batch, *batch], callers=(AT.line(loop, "run"),))
    called = AT.all("all_reduce", hook)
    stack = (AT.line(stem, "forward"), AT.line(model, "run"))
    evidence = job([usual, Doing([*batch, *batch[:2], called], callers=stack), usual], code={AT.file: HOOK})
    assert ways(evidence) == [(BranchKind.CONDITION, "if peak > limit", "")]
    assert examine(evidence).diagnoses[0].culprits.members == (1,)


FIRST = """\
@contextmanager
def main_first(rank):
    if rank:
        dist.barrier()  # others
    yield
    if not rank:
        dist.barrier()  # first

def prepare(rank):
    dist.barrier()  # before
    try:
        with main_first(rank):  # with
            return build()
    except OSError:
        return None

prepare(rank)
dist.broadcast(x, 0)  # after
"""


def test_what_a_with_runs_is_not_taken_for_a_way_past_it() -> None:
    """The first rank's build failed and was caught: the condition in the helper separated no ranks."""
    others, before, entered, after = lines(FIRST, "others", "before", "with", "after")
    start = AT.all("barrier", before)
    waiting = Doing([start, AT.all("barrier", others)], callers=(AT.line(entered, "prepare"),))
    failed = Doing([start, AT.all("all_reduce", after)])
    evidence = job([failed, waiting, waiting], code={AT.file: FIRST})
    assert [point for divergence in divergences(digest(evidence)) for point in divergence.branch_points] == []
