"""Conditions that each rank evaluates on its own values."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence
from ddpdoctor.model.progress import EventKind
from tests.unit.diagnose import stories
from tests.unit.diagnose.builders import Act, At, Doing, job
from tests.unit.diagnose.stories import among
from tests.unit.diagnose.verdicts import everywhere, first, one_odd, verdict

AT = At()


NESTED = """\
for epoch in range(3):
    for _ in range(4):
        model(x).sum().backward()
    keep(model)


def keep(model):
    if score() <= best:
        return
    dist.barrier()
    write(model)
"""


def test_early_return_around_a_barrier() -> None:
    # GIVEN a rank that returned before the barrier and began the next epoch's forward, on the line of its backward
    step = [AT.forward(3), AT.backward(3)]
    usual = Doing([*step * 4, AT.all("barrier", 10, function="keep")], callers=(AT.line(4, "<module>"),))
    odd = Doing([*step * 5])
    found = verdict(NESTED, one_odd(odd, usual))
    # THEN the condition of the return is named, not a loop that was left
    assert (found.code, found.culprits.members) == ("DD206", (1,))
    assert found.locations[0].line == 8


RESUME = """\
import torch.distributed as dist


def main():
    dist.init_process_group("gloo")
    resume(net)
    dist.barrier()


def resume(net):
    if not path.exists():
        return 0
    for p in net.parameters():
        dist.broadcast(p, 0)
    dist.all_reduce(step)
    return int(step)
"""


def test_file_that_one_rank_sees() -> None:
    # GIVEN a rank inside a loop over the parameters, which is as long everywhere, and others that returned before it
    start = AT.all("init_process_group", 5, function="main")
    odd = Doing([start, AT.broadcast(14, 0, function="resume")], callers=(AT.line(6, "main"),))
    found = verdict(RESUME, one_odd(odd, Doing([start, AT.all("barrier", 7, function="main")])))
    # THEN neither that loop nor a way past the all_reduce behind it is a reason: the condition is
    assert (found.code, found.culprits.members) == ("DD206", (1,))
    assert found.locations[0].line == 11


TIMED = """\
class Saving:
    def due(self):
        return time.monotonic() - self.last > self.seconds

    def step(self, model):
        if self.due():
            dist.barrier()


saving = Saving()
for batch in stream():
    model(batch).sum().backward()
    saving.step(model)
"""


def test_forward_that_waits_in_an_operation_of_its_own_is_not_merely_behind() -> None:
    # GIVEN ranks inside a broadcast that DDP's forward issues itself, of which the history holds no event
    step = [AT.forward(12), AT.backward(12)]
    odd = Doing([*step, AT.all("barrier", 7, function="step")], callers=(AT.line(13, "<module>"),))
    usual = Doing([*step, AT.forward(12), AT.broadcast(12, 1)])
    evidence = job(one_odd(odd, usual), code={AT.file: TIMED})
    ranks = []
    for seen in evidence.ranks:
        page = seen.page
        assert page is not None
        shown = page if seen.rank == 1 else replace(page, events=page.events[:-1])
        ranks.append(replace(seen, page=shown))
    found = examine(replace(evidence, ranks=tuple(ranks))).diagnoses[0]
    # THEN the barrier that one rank came to is what parted them
    assert (found.code, found.culprits.members) == ("DD206", (1,))
    assert found.locations[0].line == 6


BY_HAND = """\
def step(params):
    if not finite(params):
        return False
    for p in params.parameters():
        dist.all_reduce(p)
    return True


def main():
    for batch in stream():
        loss(batch).backward()
        step(params)
        dist.barrier()
"""


def test_step_that_was_left_out_is_no_other_order() -> None:
    # GIVEN gradients that are reduced by hand, and a rank that left that out in one round
    backward = Act(EventKind.BACKWARD, AT.line(11, "main"))
    reduce, barrier = AT.all("all_reduce", 5, function="step"), AT.all("barrier", 13, function="main")
    odd = Doing([backward, reduce, barrier, backward, barrier])
    usual = Doing([backward, reduce, barrier, backward, reduce], callers=(AT.line(12, "main"),))
    found = verdict(BY_HAND, one_odd(odd, usual))
    # THEN the condition is named, though both sides know both calls
    assert (found.code, found.culprits.members) == ("DD206", (1,))
    assert found.locations[0].line == 2


@everywhere
def test_left_the_loop(size: int, odd: int) -> None:
    # GIVEN a rank behind a loop over a DataLoader that had not ended
    found = first(among(size, odd, stories.left_early))
    # THEN it is DD206, at the only `break`; with two ranks nobody can say who should have stopped
    assert (found.code, found.confidence) == ("DD206", Confidence.CERTAIN)
    assert found.culprits.members == (odd,)
    assert found.culprit_confidence is (Confidence.LIKELY if size == 2 else Confidence.CERTAIN)
    assert found.locations[0].source == "break"


RESUMED = """\
def main(opts):
    {first}
    for step in range({start}, 60):
        loss(step).backward()
        optimizer.step()
        if {test}:
            evaluate(step)


def evaluate(step):
    dist.all_gather_object(board, hits())
"""


@pytest.mark.parametrize(
    ("first", "start", "test", "line"),
    [
        ("first = restore(opts)", "first", "(step + 1) % 15 == 0", 2),
        ("first = restore(opts)", "first", "step % opts.every == 0", 2),
        ("pass", "restore(opts)", "step % 15 == 0", 3),
        ("first = restore(opts)", "first", "due(step)", 6),
    ],
)
def test_a_counter_that_begins_at_a_value_of_the_rank(first: str, start: str, test: str, line: int) -> None:
    """The ranks go round together, so a condition on the counter alone differs because it began elsewhere."""
    main = At(function="main")
    step = [main.forward(4), main.backward(4), main.update(5)]
    gathers = AT.all("all_gather_object", 11, function="evaluate")
    odd = Doing([*step * 3, gathers], callers=(AT.line(7, "main"), AT.line(20, "<module>")))
    usual = Doing([*step * 3, *step[:2]], callers=(AT.line(20, "<module>"),))
    found = verdict(RESUMED.format(first=first, start=start, test=test), one_odd(odd, usual))
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD206", (1,), line)


@pytest.mark.parametrize(("first", "start"), [("first = 0", "first"), ("first = restore(opts)", "0")])
def test_a_condition_that_holds_every_so_many_rounds_is_no_decision_of_a_rank(first: str, start: str) -> None:
    """All ranks begin to count at one number, so what divided them is not there."""
    main = At(function="main")
    step = [main.forward(4), main.backward(4), main.update(5)]
    gathers = AT.all("all_gather_object", 11, function="evaluate")
    odd = Doing([*step * 3, gathers], callers=(AT.line(7, "main"), AT.line(20, "<module>")))
    usual = Doing([*step * 3, *step[:2]], callers=(AT.line(20, "<module>"),))
    found = verdict(RESUMED.format(first=first, start=start, test="step % 15 == 0"), one_odd(odd, usual))
    assert found.code != "DD206"
    assert not any("% 15" in sentence for sentence in (found.summary, found.why, *found.evidence))


ENDLESS = """\
def endless(loader):
    while True:
        yield from loader


def main():
    feed = endless(loader)
    while step < 60:
        batch = next(feed)
        model(batch).backward()
        optimizer.step()
        if flat(validate()):
            break
    dist.barrier()
"""


def test_the_end_of_a_loader_that_a_generator_begins_anew_is_no_end() -> None:
    """Where one rank stops, the others are asked for a batch when their loader has just ended."""
    main = At(function="main")
    asked = AT.line(3, "endless"), AT.line(9, "main")
    batch, refill = (replace(one, site=asked[0], path=asked) for one in (main.next(3), main.stop(3)))
    update = main.update(11)
    step = [batch, main.forward(10), main.backward(10), update]
    callers = (AT.line(20, "<module>"),)
    odd = Doing([*step * 3, main.all("barrier", 14)], callers=callers)
    usual = Doing([*step * 3, refill, *step[:3]], callers=callers)
    found = verdict(ENDLESS, one_odd(odd, usual))
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD206", (1,), 13)


KEEPS = """\
def improved(error):
    if error >= best * 0.98:
        return False
    return True

def main():
    for batch in loader:
        loss = model(batch)
        loss.backward()
        if improved(loss.item()):
            dist.all_gather_object(errors, loss.item())

main()
"""


def test_a_rank_that_is_still_in_the_loop_has_not_left_it() -> None:
    """The condition jumps, but only out of the function that decides."""
    at, start = At(function="main"), AT.line(13, "<module>")
    step, call = [at.next(7), at.forward(8), at.backward(9)], at.all("all_gather_object", 11)
    usual = Doing([*step, call, *step, *step], callers=(start,))
    odd = Doing([*step, call, *step, call], callers=(start,))
    found = verdict(KEEPS, one_odd(odd, usual))
    assert (found.code, found.culprits.members) == ("DD206", (1,))
    assert "went to all_gather_object alone" in found.summary


DUE = """\
class Checks:
    def due(self):
        if time.monotonic() - self.last < 3:
            return False
        return True
    def check(self):
        if not self.due():
            return None
        dist.all_reduce(self.score)

def main(model, checks):
    for batch in stream():
        model(batch).sum().backward()
        optimizer.step()
        checks.check()
"""


def test_a_rank_that_returned_into_a_call_has_not_left_the_loop_where_the_stacks_do_not_tell() -> None:
    """The frames of both sides' steps do: of a rank that has ended there are no others."""
    main, start = At(function="main"), AT.line(20, "<module>")
    step = [replace(act, path=(act.site, start)) for act in (main.forward(13), main.backward(13), main.update(14))]
    check = AT.line(9, "check")
    call = replace(AT.all("all_reduce", 9, function="check"), path=(check, main.line(15), start))
    odd = Doing([*step * 3, call], callers=(main.line(15), start))
    evidence = job(one_odd(odd, Doing([*step * 3, *step[:2]], callers=(start,))), code={AT.file: DUE})
    ranks = tuple(seen if seen.rank == 1 else replace(seen, stacks=None) for seen in evidence.ranks)
    found = examine(replace(evidence, ranks=ranks)).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD206", (1,))
    assert "went to all_reduce alone" in found.summary


STOPPED = """\
def fit(model, rows):
    for epoch in range(60):
        for part in cut(rows):
            model(part).sum().backward()
            optimizer.step()
        {test}
            {jump}

def main():
    fit(model, rows)
    print("done")

main()
"""


@pytest.mark.parametrize(
    ("test", "jump", "code"),
    [
        pytest.param("if stopper.is_over(validate()):", "break", "DD206", id="break"),
        pytest.param("if stopper.is_over(validate()):", "return", "DD206", id="return"),
        pytest.param("if not rows:", "return", "DD252", id="nothing to do"),
        pytest.param("if next_part is None:", "break", "DD252", id="no more data"),
        pytest.param("for _ in rows:", "validate()", "DD252", id="nothing leaves the loop"),
    ],
)
def test_a_rank_that_left_the_loop_and_came_to_the_end_of_its_program(test: str, jump: str, code: str) -> None:
    fit = At(function="fit")
    outer = (At(function="main").line(10), At(function="<module>").line(13))
    step = [replace(act, path=(act.site, *outer)) for act in (fit.forward(4), fit.backward(4), fit.update(5))]
    usual, gone = Doing([*step * 4, *step[:2]], callers=outer), Doing(step * 4, blocked=False, exit_status=0)
    found = verdict(STOPPED.format(test=test, jump=jump), one_odd(gone, usual))
    assert (found.code, found.culprits.members) == (code, (1,))
    assert code != "DD206" or found.locations[0].line == 7


SHORT = """\
def anywhere(self):
    if self.here():
        self.set()
    return self.here() or self.check()

def check(self):
    dist.all_reduce(self.flag)
    return self.flag.item()

def run(self):
    for batch in loader:
        model(batch).sum().backward()
        optimizer.step()
        if self.anywhere():
            break
    dist.all_gather(scores, score)
"""


def test_a_call_behind_an_or_that_one_rank_did_not_come_to() -> None:
    run = At(function="run")
    path = (AT.line(7, "check"), AT.line(4, "anywhere"), run.line(14))
    check = replace(AT.all("all_reduce", 7, function="check"), path=path)
    step = [run.next(11), run.forward(12), run.backward(12), run.update(13)]
    usual = Doing([*step, check, *step, check], callers=path[1:])
    left = Doing([*step, check, *step, run.all("all_gather", 16)])
    found = verdict(SHORT, one_odd(left, usual))
    assert (found.code, found.confidence, found.culprits.members) == ("DD206", Confidence.LIKELY, (1,))
    assert found.locations[0].line == 4


MEASURED = """\
import random
import time
import torch.distributed as dist

def look(loss):
    if {test}:
        measure(loss)

def measure(loss):
    dist.all_gather_object(losses, loss.item())

for batch in loader:
    loss = model(batch)
    loss.backward()
    look(loss)
"""


@pytest.mark.parametrize(
    ("test", "once_before", "confidence"),
    [
        pytest.param("random.random() < 0.1", False, Confidence.CERTAIN, id="random numbers"),
        pytest.param("time.monotonic() > 60", False, Confidence.CERTAIN, id="the clock"),
        pytest.param("asked()", False, Confidence.LIKELY, id="nothing is known of it"),
        pytest.param("random.random() < 0.1", True, Confidence.LIKELY, id="all have made the call before"),
    ],
)
def test_a_call_that_one_condition_on_a_value_of_each_rank_leads_to(
    test: str, once_before: bool, confidence: Confidence
) -> None:
    at, start = At(), AT.line(15, "<module>")
    path = (AT.line(10, "measure"), AT.line(7, "look"), start)
    call = replace(AT.all("all_gather_object", 10, function="measure"), path=path)
    step = [at.next(12), at.forward(13), at.backward(14)]
    rounds = [*step, *([call] if once_before else []), *step]
    odd = Doing([*rounds, call], callers=path[1:])
    found = verdict(MEASURED.format(test=test), one_odd(odd, Doing([*rounds, *step])))
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD206", (1,), 6)
    assert found.confidence is confidence
