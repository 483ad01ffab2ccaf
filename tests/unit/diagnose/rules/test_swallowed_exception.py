"""Exceptions that one rank caught before it continued."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.progress import EventKind
from tests.unit.diagnose.builders import Act, At, Doing, job, raised
from tests.unit.diagnose.stories import AT
from tests.unit.diagnose.verdicts import everywhere, first, one_odd, verdict

STARTED = AT.all("init_process_group", 1)
UPDATED = EventKind.OPTIMIZER_STEP


ROBUST = """\
def batches(loader):
    it = iter(loader)
    while True:
        try:
            yield next(it)
        except StopIteration:
            return
        except OSError as error:
            print(error)


def train(loader):
    for batch in batches(loader):
        model(batch).sum().backward()
    dist.barrier()
"""


def test_loader_that_raised_is_not_one_with_fewer_batches() -> None:
    # GIVEN a rank whose loader raised once, was asked again, and so delivered one batch fewer
    batch = [AT.next(2), AT.forward(14), AT.backward(14)]
    failed = Act(EventKind.NEXT_RAISED, AT.line(2))
    usual = Doing([*batch * 4])
    odd = Doing([*batch, failed, *batch * 2, AT.stop(2), AT.all("barrier", 15)])
    found = verdict(ROBUST, one_odd(odd, usual))
    # THEN it is the caught exception, for certain, at the `except` that caught it
    assert (found.code, found.confidence) == ("DD208", Confidence.CERTAIN)
    assert found.culprits.members == (1,)
    assert found.locations[0].source == "except OSError as error:"


def test_loader_that_raised_and_is_still_handled_is_no_skipped_batch() -> None:
    # GIVEN a rank that has not come out of its loader's exception: it stands in a `finally`
    batch = [AT.next(2), AT.forward(14), AT.backward(14)]
    failed = Act(EventKind.NEXT_RAISED, AT.line(2))
    error = raised("OSError", "truncated", 80.0, AT.line(2))
    odd = Doing([*batch, failed, AT.all("barrier", 15)], raised=error)
    ranks = one_odd(odd, Doing([*batch * 2]))
    assert verdict(ROBUST, ranks).code == "DD253"
    # AND where neither its process nor its exit was seen, nobody knows that it ended
    evidence = job(ranks, code={AT.file: ROBUST})
    blind = replace(evidence, ranks=tuple(replace(seen, process=None) for seen in evidence.ranks))
    unseen = examine(blind).diagnoses[0]
    assert (unseen.code, unseen.confidence) == ("DD251", Confidence.LIKELY)


RETRY = """\
def upload(step):
    for attempt in range(3):
        try:
            dist.all_reduce(step)
            write(step)
            return
        except OSError:
            attempts.append(step)


def main():
    upload(step)
    dist.barrier()
"""


def test_collective_that_is_tried_again() -> None:
    # GIVEN a rank that failed behind a collective and entered it once more
    reduce = AT.all("all_reduce", 4, function="upload")
    odd = Doing([STARTED, reduce, reduce], callers=(AT.line(12, "main"),))
    usual = Doing([STARTED, reduce, AT.all("barrier", 13, function="main")])
    found = verdict(RETRY, one_odd(odd, usual))
    # THEN it is the caught exception, though both sides make both calls
    assert (found.code, found.culprits.members) == ("DD208", (1,))
    assert found.locations[0].source == "except OSError:"


#: a step whose exceptions are swallowed, and its batch, forward, backward and update
CATCHING = """\
for batch in loader:
    try:
        loss = model(batch)
        loss.backward()
        optimizer.step()
    except ValueError:
        skipped += 1
log(skipped)
dist.barrier()
"""


CAUGHT = [AT.next(1), AT.forward(3), AT.backward(4), AT.update(5)]


@everywhere
def test_caught_exception(size: int, odd: int) -> None:
    # GIVEN a step inside a `try` that swallows, and nothing else that leads past it
    usual = Doing([*CAUGHT, *CAUGHT, *CAUGHT[:3]])
    strange = Doing([*CAUGHT, *CAUGHT[:2], *CAUGHT[:2], AT.stop(1), AT.all("barrier", 9)])
    found = first(job([strange if rank == odd else usual for rank in range(size)], code={AT.file: CATCHING}))
    # THEN it is DD208 at the `except`; only likely, since no exception was seen
    assert (found.code, found.confidence) == ("DD208", Confidence.LIKELY)
    assert found.culprits.members == (odd,)
    assert found.locations[0].source == "except ValueError:"


SHARDED = """\
def train(loader):
    for step, (mels, phones) in enumerate(loader):
        try:
            logits = model(mels)
            loss = cross_entropy(logits, phones)
            loss.backward()
            optimizer.step()
        except IndexError as error:
            print(error)
            continue
        print(step)
"""


def test_the_gathers_of_the_next_forward_meet_those_of_the_others_backward() -> None:
    """A sharded model issues the same operation in both, so the ranks differ long before the operations do."""
    gather, scatter = "all_gather_into_tensor", "reduce_scatter_tensor"
    forward = [AT.next(2), AT.forward(4), AT.all(gather, 4), AT.all(gather, 4)]
    backward = [AT.backward(6), AT.all(gather, 6), AT.all(gather, 6), AT.all(scatter, 6)]
    batch = [*forward, *backward, AT.update(7)]
    usual, odd = Doing([*batch, *forward, *backward]), Doing([*batch, *forward, *forward, AT.all(gather, 4)])
    found = verdict(SHARDED, one_odd(odd, usual))
    assert (found.code, found.culprits.members) == ("DD208", (1,))
    assert found.locations[0].source == "except IndexError as error:"


RUNTIME = At("/job/runtime.py", "call")
TOLERANT = """\
def tolerant(method):
    def call(*args):
        try:
            return method(*args)
        except ValueError as error:
            {handled}
    return call
"""
TRAINER = """\
class Trainer:
    @tolerant
    def step(self, batch):
        {guard}
        model(batch).sum().backward()
        self.reduce()
        optimizer.step()

    def reduce(self):
        dist.all_reduce(model.weight.grad)

    def fit(self):
        for number in range(60):
            self.step(draw(number))
            if {due}:
                dist.all_gather_object(rows, losses)

Trainer().fit()
"""


def _tolerated(handled: str = "log(error)", guard: str = "check(batch)", due: str = "number % every == 0") -> Diagnosis:
    outer = (RUNTIME.line(4), AT.line(14, "fit"), AT.line(18, "<module>"))
    backward, update = (Act(kind, AT.line(n, "step")) for kind, n in ((EventKind.BACKWARD, 5), (UPDATED, 7)))
    reduce = replace(AT.all("all_reduce", 10, function="reduce"), path=(AT.line(10, "reduce"), AT.line(6, "step")))
    step = [replace(act, path=(*(act.path or (act.site,)), *outer)) for act in (backward, reduce, update) if act.site]
    gather = replace(AT.all("all_gather_object", 16, function="fit"), path=(AT.line(16, "fit"), *outer[2:]))
    odd = Doing([*step * 3, gather, *step * 2, gather], callers=outer[2:])
    usual = Doing([*step * 3, gather, *step * 2, *step[:2]], callers=(AT.line(6, "step"), *outer))
    code = {RUNTIME.file: TOLERANT.format(handled=handled), AT.file: TRAINER.format(guard=guard, due=due)}
    return examine(job(one_odd(odd, usual), code=code)).diagnoses[0]


def test_a_decorator_catches_what_a_step_raises_and_a_call_that_is_due_for_all_comes_next() -> None:
    found = _tolerated()
    assert (found.code, found.culprits.members) == ("DD208", (1,))
    assert (found.locations[0].file, found.locations[0].line) == (RUNTIME.file, 5)


@pytest.mark.parametrize(
    "given",
    [{"handled": "raise"}, {"guard": "if bad(batch):\n            return"}, {"due": "self.losses[-1] < self.best"}],
)
def test_it_is_not_said_where_nothing_is_caught_or_a_condition_leads_there_too(given: dict[str, str]) -> None:
    assert _tolerated(**given).code != "DD208"


STREAMED = """\
def train(stream):
    for x in stream():
        try:
            loss = model(decode(x))
        except ValueError:
            continue
        loss.backward()
    dist.barrier()
"""


@pytest.mark.parametrize(
    ("source", "code"),
    [
        pytest.param(STREAMED, "DD208", id="caught in a turn, or one turn fewer"),
        pytest.param(STREAMED.replace("continue", "raise"), "DD201", id="nothing is caught"),
        pytest.param(STREAMED.replace("continue", "break"), "DD208", id="caught, and the loop left"),
    ],
)
def test_a_turn_without_a_trace_may_be_one_whose_exception_was_caught(source: str, code: str) -> None:
    # GIVEN a generator, whose end nobody records, and no counter of the loop's turns
    step = [AT.forward(4), AT.backward(7)]
    found = verdict(source, one_odd(Doing([*step * 3, AT.all("barrier", 8)]), Doing(step * 4)))
    # THEN a rank that did less in the loop is not said to have had fewer data if it may have caught an exception
    assert found.code == code
    assert found.confidence is not Confidence.CERTAIN
    assert (found.confidence is Confidence.POSSIBLE) == (code != "DD201")


def test_the_only_handler_in_a_turn_is_named_beside_the_end_of_the_data() -> None:
    step = [AT.forward(4), AT.backward(7)]
    sides = Doing([*step * 3, AT.all("barrier", 8)]), Doing(step * 4)
    found = verdict(STREAMED, one_odd(*sides))
    assert (found.culprits.members, [place.line for place in found.locations[:2]]) == ((1,), [5, 2])
    assert ["(DD208)" in found.evidence[0], "(DD201)" in found.evidence[1]] == [True, True]
    # THEN of two halves that which left the loop is named, whichever of the two it was
    halves = verdict(STREAMED, [sides[0], sides[1], sides[0], sides[1]])
    assert (halves.code, halves.culprits.members) == ("DD208", (0, 2))
    # THEN a condition that leads past as well leaves it open
    passed = STREAMED.replace("        try:", "        if x is None: continue\n        try:")
    step, behind = [AT.forward(5), AT.backward(8)], AT.all("barrier", 9)
    assert verdict(passed, one_odd(Doing([*step * 3, behind]), Doing(step * 4))).code == "DD299"


FAULTY = """\
def evaluate(step):
    total = torch.zeros(1)
    try:
        total += score(step)
        dist.all_reduce(total)
    except ValueError:
        pass
    return total


for step in range(20):
    dist.all_reduce(weights)
    evaluate(step)
"""


@pytest.mark.parametrize("call", ["    evaluate(step)\n", "    for part in parts:\n        evaluate(part)\n"])
def test_a_loop_without_batches(call: str) -> None:
    # GIVEN rounds that begin with a collective, and a rank that made that of the next round without the one before
    code = FAULTY.replace("    evaluate(step)\n", call)
    module = AT.line(13 + (call.count("\n") - 1), "<module>")
    weights = replace(AT.all("all_reduce", 12, function="<module>"), elements=1000, path=(AT.line(12, "<module>"),))
    inner = AT.line(5, "evaluate")
    total = replace(AT.all("all_reduce", 5, function="evaluate"), elements=1, path=(inner, module))
    lost = raised("RuntimeError", "Connection reset by peer", 60.0, AT.line(12))
    usual = Doing([weights, total] * 3, exit_status=-6)
    odd = Doing([*[weights, total] * 2, weights, weights], exit_status=1, raised=lost)
    report = examine(job(one_odd(odd, usual), code={AT.file: code}))
    found = report.diagnoses[0]
    # THEN only an exception can have led past it; but a loop with fewer turns can, too
    assert (found.code == "DD208") is ("for part" not in call)
    assert found.confidence is not Confidence.CERTAIN or found.culprits.members == (1,)
