"""The control-flow diff: the statement at which one rank and the others took different paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from ddpdoctor.diagnose.divergence.branch_points import BranchKind
from ddpdoctor.diagnose.divergence.divergences import divergences
from ddpdoctor.diagnose.engine import examine
from ddpdoctor.diagnose.facts import digest
from ddpdoctor.model.diagnosis import Confidence
from ddpdoctor.model.evidence import Evidence
from ddpdoctor.model.stacks import Site, Thread
from tests.unit.diagnose.builders import Act, At, Doing, job, raised

AT = At()


def lines(code: str, *marks: str) -> list[int]:
    """Numbers of the lines that end with `# mark`."""
    texts = code.splitlines()
    return [next(n for n, text in enumerate(texts, 1) if text.endswith(f"# {mark}")) for mark in marks]


def parted(code: str, actor: Sequence[Act], others: Sequence[Act]) -> Evidence:
    """Three ranks, the middle one the actor, all inside their last act."""
    usual = Doing(list(others))
    return job([usual, Doing(list(actor)), usual], code={AT.file: code})


def ways(evidence: Evidence) -> list[tuple[BranchKind, str, str]]:
    (divergence,) = divergences(digest(evidence))
    assert divergence.odd.members == (1,)
    return [(point.kind, point.text, point.jump_text) for point in divergence.branch_points]


def skipped(code: str, *, forward: bool = False) -> Evidence:
    """The odd rank skips the second batch's backward, or its forward too, and is in the final barrier."""
    loop, model, backward, after = lines(code, "next", "forward", "backward", "after")
    batch = [AT.next(loop), AT.forward(model), AT.backward(backward)]
    part = batch[:1] if forward else batch[:2]
    return parted(code, [*batch, *part, *batch, AT.stop(loop), AT.all("barrier", after)], [*batch, *batch, *batch])


PLAIN = """\
for batch in loader:  # next
    if verbose:
        print(batch)
    loss = model(batch)  # forward
    if not finite(loss):
        log(loss)
        continue
    loss.backward()  # backward
dist.barrier()  # after
"""
NEGATED = """\
for batch in loader:  # next
    loss = model(batch)  # forward
    if finite(loss):
        loss.backward()  # backward
dist.barrier()  # after
"""
CAUGHT = """\
for batch in loader:  # next
    try:
        loss = model(batch)  # forward
        loss.backward()  # backward
    except RuntimeError:
        torch.cuda.empty_cache()
dist.barrier()  # after
"""
RAISED_AGAIN = """\
for batch in loader:  # next
    try:
        loss = model(batch)  # forward
        if loss > limit: continue
        loss.backward()  # backward
    except RuntimeError:
        dump(batch)
        raise
dist.barrier()  # after
"""
SUPPRESSED = """\
for batch in loader:  # next
    with contextlib.suppress(ValueError):
        loss = model(batch)  # forward
        loss.backward()  # backward
dist.barrier()  # after
"""
TOLERATED = """\
class Tolerance:
    def __exit__(self, kind, error, trace):
        return kind is not None and self.seen <= self.limit

tolerance = Tolerance()
for batch in loader:  # next
    with tolerance:
        loss = model(batch)  # forward
        loss.backward()  # backward
dist.barrier()  # after
"""
TOLERATED_BY_GENERATOR = """\
@contextmanager
def tolerating(kinds):
    try:
        yield
    except kinds:
        log()

for batch in loader:  # next
    with tolerating(KeyError):
        loss = model(batch)  # forward
        loss.backward()  # backward
dist.barrier()  # after
"""
NOT_TOLERATED = """\
class Timed:
    def __exit__(self, kind, error, trace):
        self.seconds = now() - self.began
        return False

for batch in loader:  # next
    with Timed():
        loss = model(batch)  # forward
        if loss > limit: continue
        loss.backward()  # backward
dist.barrier()  # after
"""
TWO_WAYS = """\
for batch in loader:  # next
    loss = model(batch)  # forward
    if loss > limit:
        continue
    if stale(batch):
        continue
    loss.backward()  # backward
dist.barrier()  # after
"""
TOLERATED_BY_A_WITH = """\
@contextmanager
def timed():
    began = now()
    with contextlib.suppress(LookupError):
        yield
    seconds.append(now() - began)

for batch in loader:  # next
    with timed():
        loss = model(batch)  # forward
        loss.backward()  # backward
dist.barrier()  # after
"""
IN_A_FUNCTION = """\
def learn(batch):
    loss = model(batch)  # forward
    if loss.isnan():
        return None
    loss.backward()  # backward
    return loss

def main():
    for batch in loader:  # next
        learn(batch)
    dist.barrier()  # after
"""
MATCHED = """\
for batch in loader:  # next
    loss = model(batch)  # forward
    match kind(loss):
        case "bad":
            continue
        case _:
            loss.backward()  # backward
dist.barrier()  # after
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (PLAIN, [(BranchKind.CONDITION, "if not finite(loss)", "continue")]),
        (NEGATED, [(BranchKind.CONDITION, "if finite(loss)", "")]),
        (CAUGHT, [(BranchKind.EXCEPTION, "except RuntimeError", "")]),
        (RAISED_AGAIN, [(BranchKind.CONDITION, "if loss > limit: continue", "if loss > limit: continue")]),
        (SUPPRESSED, [(BranchKind.EXCEPTION, "with contextlib.suppress(ValueError)", "")]),
        (TOLERATED, [(BranchKind.EXCEPTION, "with tolerance", "")]),
        (TOLERATED_BY_GENERATOR, [(BranchKind.EXCEPTION, "with tolerating(KeyError)", "")]),
        (TOLERATED_BY_A_WITH, [(BranchKind.EXCEPTION, "with timed()", "")]),
        (NOT_TOLERATED, [(BranchKind.CONDITION, "if loss > limit: continue", "if loss > limit: continue")]),
        (
            TWO_WAYS,
            [
                (BranchKind.CONDITION, "if loss > limit", "continue"),
                (BranchKind.CONDITION, "if stale(batch)", "continue"),
            ],
        ),
        (IN_A_FUNCTION, [(BranchKind.CONDITION, "if loss.isnan()", "return None")]),
        (MATCHED, [(BranchKind.CONDITION, "match kind(loss)", "continue")]),
    ],
)
def test_ways_past_a_backward(code: str, expected: list[tuple[BranchKind, str, str]]) -> None:
    assert ways(skipped(code)) == expected


def test_ways_past_a_forward_lead_through_the_function_that_makes_it() -> None:
    # GIVEN a step in a function of its own, which may return before its forward
    code = IN_A_FUNCTION.replace("    loss = model", "    if batch is None:\n        return None\n    loss = model")
    assert ways(skipped(code, forward=True)) == [(BranchKind.CONDITION, "if batch is None", "return None")]


def test_a_generator_is_gone_through() -> None:
    # GIVEN a generator of the user's own that leaves batches out
    code = """\
def usable(loader):
    for batch in loader:  # next
        if batch is None:
            continue
        yield batch

for batch in usable(loader):
    loss = model(batch)  # forward
    loss.backward()  # backward
dist.barrier()  # after
"""
    assert ways(skipped(code, forward=True)) == [(BranchKind.CONDITION, "if batch is None", "continue")]


LEFT = """\
def fit():
    for batch in loader:  # next
        loss = model(batch)  # forward
        loss.backward()  # backward
        if stopper(loss.item()):
            log("stops")
            return True
    return False

def main():
    for epoch in range(args.epochs):
        if fit():
            break
    dist.barrier()  # after

main()
"""


def left(code: str) -> Evidence:
    loop, model, backward, after = lines(code, "next", "forward", "backward", "after")
    batch = [AT.next(loop), AT.forward(model), AT.backward(backward)]
    evidence = parted(code, [*batch, *batch, AT.all("barrier", after, function="main")], [*batch, *batch, *batch])
    inside = AT.line(lines(LEFT, "next")[0] + 10, "main")
    ranks = [
        replace(
            seen, stacks=replace(seen.stacks, threads=tuple(_called(thread, inside) for thread in seen.stacks.threads))
        )
        if seen.stacks and seen.rank != 1
        else seen
        for seen in evidence.ranks
    ]
    return replace(evidence, ranks=tuple(ranks))


def _called(thread: Thread, caller: Site) -> Thread:
    return replace(thread, frames=(*thread.frames, caller))


def test_the_first_choice_is_shown_not_what_follows_from_it() -> None:
    # GIVEN a return from inside the loop, after which the caller's own loop is left too
    evidence = left(LEFT)
    assert ways(evidence) == [(BranchKind.CONDITION, "if stopper(loss.item())", "return True")]
    found = examine(evidence).diagnoses[0]
    assert (found.code, found.locations[0].source) == ("DD206", "return True")


STOPS = """\
import torch.distributed as dist

for epoch in range(args.epochs):
    for batch in loader:  # next
        model(batch).sum().backward()  # backward
    if plateau(validate()):
        break
dist.barrier()  # after
"""


def stops(code: str) -> Evidence:
    loop, backward, after = lines(code, "next", "backward", "after")
    epoch = [AT.next(loop), AT.forward(backward), AT.backward(backward), AT.stop(loop)]
    return parted(code, [*epoch, AT.all("barrier", after)], [*epoch, *epoch[:3]])


def test_loops_that_end_alike_part_nobody() -> None:
    condition = (BranchKind.CONDITION, "if plateau(validate())", "break")
    assert ways(stops(STOPS)) == [condition]
    assert ways(stops(STOPS.replace("args.epochs", "3 * dist.get_world_size()"))) == [condition]
    # WHEN the number of rounds may differ THEN that is a way too
    count, other = ways(stops(STOPS.replace("args.epochs", "len(files)")))
    assert (count[0], other) == (BranchKind.COUNT, condition)
    assert examine(stops(STOPS)).diagnoses[0].code == "DD206"


def test_changed_source_is_said_and_not_shown() -> None:
    evidence = skipped(PLAIN)
    changed = {path: replace(source, changed=True) for path, source in evidence.code.items()}
    found = examine(replace(evidence, code=changed)).diagnoses[0]
    assert any("was changed after the job started" in line for line in found.evidence)
    assert not any("continue" in line for line in found.evidence)
    assert all(location.source == "" for location in found.locations)


def test_of_both_ways_past_the_handler_is_the_likelier() -> None:
    # GIVEN a `continue` and an `except` that both lead past the backward
    code = CAUGHT.replace(
        "        loss.backward()", "        if loss > limit:\n            continue\n        loss.backward()"
    )
    found = examine(skipped(code)).diagnoses[0]
    assert (found.code, found.confidence) == ("DD208", Confidence.POSSIBLE)
    assert found.culprits.members == (1,)
    assert {location.source for location in found.locations[:2]} == {"continue", "except RuntimeError:"}


@pytest.mark.parametrize(
    ("loop", "code"),
    [
        ("for i in range(len(rows)):", "DD201"),
        ("for batch in stream():", "DD201"),
        # a round that leaves no trace may have been a skipped batch
        ("for batch in stream():\n    if batch is None: continue", "DD299"),
        ("while not done():", "DD206"),
    ],
)
def test_loops_that_no_loader_counts(loop: str, code: str) -> None:
    # GIVEN a rank that made one round less of a loop that leaves no trace of its end
    text = f"{loop}\n    loss = model(batch)  # forward\n    loss.backward()  # backward\ndist.barrier()  # after\n"
    model, backward, after = lines(text, "forward", "backward", "after")
    batch = [AT.forward(model), AT.backward(backward)]
    found = examine(parted(text, [*batch, *batch, AT.all("barrier", after)], [*batch, *batch, *batch])).diagnoses[0]
    assert (found.code, found.culprits.members) == (code, (1,))


def test_an_exception_that_ends_the_loop() -> None:
    text = """\
try:
    for batch in loader:  # next
        loss = model(batch)  # forward
        loss.backward()  # backward
except OSError:
    log("end of shard")
dist.barrier()  # after
"""
    loop, model, backward, after = lines(text, "next", "forward", "backward", "after")
    batch = [AT.next(loop), AT.forward(model), AT.backward(backward)]
    evidence = parted(text, [*batch, *batch, AT.all("barrier", after)], [*batch, *batch, *batch])
    found = examine(evidence).diagnoses[0]
    assert (found.code, found.locations[0].source) == ("DD208", "except OSError:")


def test_a_loop_over_two_loaders_ends_with_the_shorter() -> None:
    text = """\
for a, b in zip(one, two):  # next
    loss = net(a + b)  # forward
    loss.backward()  # backward
dist.barrier()  # after
"""
    loop, model, backward, after = lines(text, "next", "forward", "backward", "after")
    batch = [AT.next(loop), AT.next(loop), AT.forward(model), AT.backward(backward)]
    ended = [*batch, *batch, AT.next(loop), AT.stop(loop), AT.all("barrier", after)]
    found = examine(parted(text, ended, [*batch, *batch, *batch])).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD201", (1,))


def test_a_call_under_a_condition_on_own_values() -> None:
    # GIVEN a barrier under a condition that does not ask for the rank
    text = """\
for batch in loader:  # next
    loss = model(batch)  # forward
    loss.backward()  # backward
    if loss < best:
        dist.barrier()  # save
"""
    loop, model, backward, save = lines(text, "next", "forward", "backward", "save")
    batch = [AT.next(loop), AT.forward(model), AT.backward(backward)]
    found = examine(parted(text, [*batch, AT.all("barrier", save)], [*batch, *batch])).diagnoses[0]
    assert (found.code, found.confidence.value) == ("DD206", "likely")
    # WHEN it asks for the rank THEN it is DD203
    asked = text.replace("loss < best", "rank == 1")
    found = examine(parted(asked, [*batch, AT.all("barrier", save)], [*batch, *batch])).diagnoses[0]
    assert (found.code, found.confidence.value) == ("DD203", "certain")


def test_a_parameter_that_holds_a_comparison_of_the_rank() -> None:
    text = """\
def report(loss, master):
    if not master:
        return
    dist.all_reduce(loss)  # call

for batch in loader:  # next
    loss = model(batch)  # forward
    loss.backward()  # backward
    report(loss, dist.get_rank() == 1)

import torch.distributed as dist
"""
    loop, model, backward, call = lines(text, "next", "forward", "backward", "call")
    batch = [AT.next(loop), AT.forward(model), AT.backward(backward)]
    alone = [*batch, AT.all("all_reduce", call, function="report")]
    assert examine(parted(text, alone, [*batch, *batch])).diagnoses[0].code == "DD203"
    # WHEN it holds on other ranks than those that came past it THEN something else has parted them
    other = text.replace("dist.get_rank() == 1", "dist.get_rank() == 0")
    assert examine(parted(other, alone, [*batch, *batch])).diagnoses[0].code == "DD206"


def test_rounds_that_all_callers_count_alike() -> None:
    text = STOPS.replace("args.epochs", "epochs")
    body = "".join(f"    {line}\n" for line in text.splitlines())
    called = f"def fit(loader, epochs):\n{body}\nfit(loader, epochs=args.epochs)\n"
    assert [kind for kind, _, _ in ways(stops(called))] == [BranchKind.CONDITION]
    uneven = called.replace("epochs=args.epochs", "epochs=len(files)")
    assert [kind for kind, _, _ in ways(stops(uneven))] == [BranchKind.COUNT, BranchKind.CONDITION]


def test_an_exception_in_a_statement_that_also_calls_a_function_of_the_file() -> None:
    text = """\
def targets(batch):
    return batch * 2

for batch in loader:  # next
    try:
        loss = criterion(model(batch), targets(batch))  # forward
        loss.backward()  # backward
    except RuntimeError:
        continue
dist.barrier()  # after
"""
    assert ways(skipped(text)) == [(BranchKind.EXCEPTION, "except RuntimeError", "continue")]


def test_a_sentinel_at_the_end_of_the_data_is_not_surely_a_decision() -> None:
    text = """\
batch = fetch()
while batch is not None:
    loss = model(batch)  # forward
    loss.backward()  # backward
    batch = fetch()
dist.barrier()  # after
"""
    model, backward, after = lines(text, "forward", "backward", "after")
    batch = [AT.forward(model), AT.backward(backward)]
    found = examine(parted(text, [*batch, AT.all("barrier", after)], [*batch, *batch])).diagnoses[0]
    assert (found.code, found.confidence.value) == ("DD206", "likely")


METHODS = """\
class Other:
    def step(self, batch):
        return batch

class Trainer:
    def loss(self, batch):
        return self.net(batch).sum()  # forward

    def step(self, batch):
        loss = self.loss(batch)
        if loss.isnan():
            return None
        loss.backward()  # backward

    def fit(self):
        for batch in self.loader:  # next
            self.step(batch)
        dist.barrier()  # after
"""


def test_a_method_that_is_called_on_self_is_gone_through_whatever_its_name() -> None:
    # GIVEN two classes with a `step`, and the last common event in a third method
    assert ways(skipped(METHODS)) == [(BranchKind.CONDITION, "if loss.isnan()", "return None")]
    found = examine(skipped(METHODS)).diagnoses[0]
    assert (found.code, found.confidence.value, found.locations[0].source) == ("DD207", "certain", "return None")


SAVING = """\
import torch

def save(model, path):
    try:
        if dist.get_rank() == 1:
            torch.save(model.state_dict(), path)
        dist.barrier()  # call
    except OSError as error:
        log(error)

for epoch in range(3):
    for batch in loader:  # next
        model(batch).sum().backward()  # backward
    save(model, "last.pt")
"""


@pytest.mark.parametrize("head", ["import torch", "from common import *", "import torch as torch, os"])
def test_a_call_that_only_an_exception_leads_past(head: str) -> None:
    # GIVEN a rank whose write failed in a `try` that also holds the barrier; `torch.save` is not the job's own `save`
    code = SAVING.replace("import torch", head)
    loop, backward, call = lines(code, "next", "backward", "call")
    epoch = [AT.next(loop), AT.forward(backward), AT.backward(backward), AT.stop(loop)]
    barrier = AT.all("barrier", call, function="save")
    for rounds in ([], [*epoch, barrier]):
        evidence = parted(code, [*rounds, *epoch, *epoch[:3]], [*rounds, *epoch, barrier])
        assert ways(evidence) == [(BranchKind.EXCEPTION, "except OSError as error", "")]
        found = examine(evidence).diagnoses[0]
        assert (found.code, found.confidence.value, found.culprits.members) == ("DD208", "certain", (1,))


@pytest.mark.parametrize("blind", [0, 2])
def test_of_two_histories_neither_is_the_majority_where_a_third_is_not_seen(blind: int) -> None:
    loop, backward, call = lines(SAVING, "next", "backward", "call")
    epoch = [AT.next(loop), AT.forward(backward), AT.backward(backward), AT.stop(loop)]
    barrier = AT.all("barrier", call, function="save")
    evidence = parted(SAVING, [*epoch, barrier, *epoch, *epoch[:3]], [*epoch, barrier, *epoch, barrier])
    ranks = tuple(replace(seen, page=None) if seen.rank == blind else seen for seen in evidence.ranks)
    found = examine(replace(evidence, ranks=ranks)).diagnoses
    assert {one.confidence for one in found} == {Confidence.LIKELY}


def test_a_condition_beside_the_exception_is_not_excluded() -> None:
    # GIVEN that the function can also return before the barrier
    code = SAVING.replace("        dist.barrier", "        if full(path):\n            return\n        dist.barrier")
    loop, backward, call = lines(code, "next", "backward", "call")
    epoch = [AT.next(loop), AT.forward(backward), AT.backward(backward), AT.stop(loop)]
    evidence = parted(code, [*epoch, *epoch[:3]], [*epoch, AT.all("barrier", call, function="save")])
    assert examine(evidence).diagnoses[0].code != "DD208"


VALIDATES = """\
def compute(sums):
    dist.all_reduce(sums)  # call
    return sums

for epoch in range(3):
    for batch in loader:  # next
        model(batch).sum().backward()  # backward
    if epoch % 2 == 0 and rank == 1:
        compute(torch.zeros(2))
"""


def test_a_mismatch_that_ended_the_job_is_told_by_where_the_ranks_parted() -> None:
    # GIVEN gloo's abort: no stack is left that would show from where `compute` was called
    loop, backward, call = lines(VALIDATES, "next", "backward", "call")
    epoch = [AT.next(loop), AT.forward(backward), AT.backward(backward), AT.stop(loop)]
    lost = raised("RuntimeError", "gloo/transport/tcp/pair.cc:553 Connection closed by peer", 60.0, AT.line(backward))
    usual = Doing([*epoch, *epoch[:3]], exit_status=1, raised=lost)
    alone = Doing([*epoch, AT.all("all_reduce", call, function="compute")], exit_status=-6)
    evidence = job([usual, alone, usual], code={AT.file: VALIDATES})
    found = examine(evidence).diagnoses
    assert [(one.code, one.confidence.value) for one in found] == [("DD203", "certain"), ("DD251", "possible")]
    assert "`if epoch % 2 == 0 and rank == 1:`" in found[0].fix
    assert "no wait" not in found[0].why
    # WHEN it does not ask for the rank THEN each rank decided on its own values
    other = job([usual, alone, usual], code={AT.file: VALIDATES.replace("rank == 1", "better(loss)")})
    assert examine(other).diagnoses[0].code == "DD206"


def test_a_call_that_a_library_made_is_followed_from_the_users_line() -> None:
    # GIVEN a barrier inside an installed package
    text = """\
for batch in loader:  # next
    loss = model(batch)  # forward
    loss.backward()  # backward
    if loss < best:
        break
fabric.barrier()  # after
"""
    loop, model, backward, after = lines(text, "next", "forward", "backward", "after")
    batch = [AT.next(loop), AT.forward(model), AT.backward(backward)]
    fabric = At("/env/lib/python3.11/site-packages/fabric/__init__.py", "barrier")
    gone = Doing([*batch, fabric.all("barrier", 7)], callers=(AT.line(after),))
    usual = Doing([*batch, *batch])
    evidence = job([usual, gone, usual], code={AT.file: text})
    assert ways(evidence) == [(BranchKind.CONDITION, "if loss < best", "break")]
    found = examine(evidence).diagnoses[0]
    assert (found.code, found.locations[0].source) == ("DD206", "break")
    assert "fabric/__init__.py:7" in found.evidence[0]


def test_rounds_of_a_setting_that_is_computed_with_the_rank() -> None:
    alike = STOPS.replace("for epoch", "import json\nconfig = json.load(open(path))\nfor epoch", 1).replace(
        "args.", "config."
    )
    assert [kind for kind, _, _ in ways(stops(alike))] == [BranchKind.CONDITION]
    own = alike.replace("open(path)", 'open(f"{local_rank}.json")')
    assert [kind for kind, _, _ in ways(stops(own))] == [BranchKind.COUNT, BranchKind.CONDITION]


CHECKED = """\
def begin(model):
    if not file.exists():
        return 0
    dist.broadcast(epoch, src=0)  # sent
    return epoch

dist.barrier()  # first
begin(model)
dist.all_reduce(ready)  # after
"""


def test_of_two_calls_the_extra_one_is_that_from_which_a_way_leads_to_the_other() -> None:
    # GIVEN a broadcast under a condition on a rank's own files, and the others in the next call
    first, sent, after = lines(CHECKED, "first", "sent", "after")
    start = AT.all("barrier", first)
    evidence = parted(CHECKED, [start, AT.broadcast(sent, 0, function="begin")], [start, AT.all("all_reduce", after)])
    found = examine(evidence).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD206", (1,))
    # WHEN it asks for what follows from the rank by arithmetic alone THEN it is DD203
    turned = CHECKED.replace("file.exists()", "turned(dist.get_rank(), 3) == 0")
    turned += "\ndef turned(rank, world):\n    return (rank + 1) % world\n"
    assert examine(replace(evidence, code=parted(turned, [start], [start]).code)).diagnoses[0].code == "DD203"
    # WHEN the function does more than reckon THEN its answer is data
    loads = turned.replace("return (rank + 1) % world", "return len(load(rank)) % world")
    assert examine(replace(evidence, code=parted(loads, [start], [start]).code)).diagnoses[0].code == "DD206"


def test_two_branches_with_a_call_each_have_no_extra_one() -> None:
    text = """\
dist.barrier()  # first
if ready(batch):
    dist.broadcast(epoch, src=0)  # sent
else:
    dist.all_reduce(epoch)  # after
"""
    first, sent, after = lines(text, "first", "sent", "after")
    start = AT.all("barrier", first)
    found = examine(parted(text, [start, AT.broadcast(sent, 0)], [start, AT.all("all_reduce", after)])).diagnoses[0]
    assert found.code not in ("DD203", "DD206") or found.confidence.value == "possible"


NESTED = """\
def epoch(reader):
    for batch in reader:
        loss = model(batch)  # forward
        loss.backward()  # backward
    return loss

def totals(loss):
    dist.all_gather_object(rows, loss)  # gather
    return rows

def main():
    for number in range(9):
        seen = totals(epoch(read()))  # both
"""


def test_a_statement_that_calls_one_function_on_the_result_of_another() -> None:
    forward, backward, gather, both = lines(NESTED, "forward", "backward", "gather", "both")
    callers = (AT.line(both, "main"),)
    batch = [AT.forward(forward), AT.backward(backward)]
    odd = Doing([*batch * 3, AT.all("all_gather_object", gather, function="totals")], callers=callers)
    usual = Doing([*batch * 4], callers=callers)
    evidence = job([usual, odd, usual], code={AT.file: NESTED})
    assert ways(evidence) == [(BranchKind.DATA, "for batch in reader", "return loss")]
