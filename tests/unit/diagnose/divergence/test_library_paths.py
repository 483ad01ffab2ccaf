"""Ranks that part inside a framework: one line of the job runs all of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from ddpdoctor.diagnose.divergence.branch_points import BranchKind, BranchPoint
from ddpdoctor.diagnose.divergence.divergences import divergences
from ddpdoctor.diagnose.engine import examine
from ddpdoctor.diagnose.facts import digest
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.evidence import Evidence
from ddpdoctor.model.stacks import Site
from tests.unit.diagnose.builders import Act, At, Doing, job
from tests.unit.diagnose.divergence.test_control_flow_diff import lines

LOOP = At("/env/lib/python3.11/site-packages/fitlib/loop.py", "train")
MAIN = At("/job/train.py", "main")

LIBRARY = """\
class Loop:
    def train(self):
        for epoch in range(self.epochs):
            for batch in self.batches():  # next
                answer = self.call("on_batch_start", batch)
                skip = answer == -1
                if skip:
                    break
                loss = self.step(batch)  # steps
                loss.backward()  # backward
                self.call("on_step_end", self.control)
                self.save()  # saves
                if self.control.should_stop:
                    break
        self.gather()  # after

    def step(self, batch):
        return self.model(batch)  # forward

    def save(self):
        if self.control.should_save:
            dist.all_gather(self.state)  # gather

    def gather(self):
        dist.all_gather(self.count)  # count
"""

JOB = """\
class Watch(Callback):
    def on_step_end(self, control):
        pass

def main():
    loop = Loop(callbacks=[Watch()])
    loop.train()  # train
"""

NEXT, STEPS, BACKWARD, SAVES, AFTER, FORWARD, GATHER, COUNT = lines(
    LIBRARY, "next", "steps", "backward", "saves", "after", "forward", "gather", "count"
)


def within(act: Act, *frames: tuple[int, str], main: int) -> Act:
    """An act that the library does for the job's only line; `frames`: lines and functions of the library."""
    path = tuple(LOOP.line(line, function) for line, function in frames)
    user = MAIN.line(main)
    return replace(act, site=user, path=(*path, user, MAIN.line(main + 2, "<module>")))


def ranks(source: str, last: Sequence[tuple[int, str]]) -> Evidence:
    """Three ranks that take two batches; rank 1 then makes a call of the library's that the others did not reach."""
    (main,) = lines(source, "train")
    batch = [
        within(MAIN.next(main), (NEXT, "train"), main=main),
        within(MAIN.forward(main), (FORWARD, "step"), (STEPS, "train"), main=main),
        within(MAIN.backward(main), (BACKWARD, "train"), main=main),
    ]
    usual = Doing([*batch, *batch])
    odd = Doing([*batch, within(MAIN.all("all_gather", main), *last, main=main)])
    return job([usual, odd, usual], code={LOOP.file: LIBRARY, MAIN.file: source})


SAVING = ((GATHER, "save"), (SAVES, "train"))
LEAVING = ((COUNT, "gather"), (AFTER, "train"))


def first(evidence: Evidence) -> Diagnosis:
    return examine(evidence).diagnoses[0]


def points(evidence: Evidence) -> list[BranchPoint]:
    return [point for one in divergences(digest(evidence)) for point in one.branch_points]


def told(condition: str, does: str, *, before: str = "") -> str:
    return JOB.replace("        pass\n", f"        if {condition}:\n            {does}  # sets\n{before}")


HANDLED = "\n    def begin(self):\n        signal.signal(signal.SIGUSR1, self.note)\n\n" + (
    "    def note(self, number, frame):\n        self.asked = True\n"
)


@pytest.mark.parametrize(
    ("flag", "last"),
    [("should_save", SAVING), ("should_stop", LEAVING)],
    ids=["an extra call", "the loop left"],
)
def test_who_sets_a_librarys_flag_is_shown(flag: str, last: tuple[tuple[int, str], ...]) -> None:
    source = told("time.time() > self.limit", f"control.{flag} = True")
    found = first(ranks(source, last))
    assert (found.code, found.culprits.members) == ("DD206", (1,))
    assert found.confidence is Confidence.LIKELY
    (place,) = lines(source, "sets")
    assert (found.locations[0].file, found.locations[0].line) == (MAIN.file, place)


def test_a_flag_set_on_a_signal() -> None:
    source = "import signal\n" + told("self.asked", "control.should_save = True", before=HANDLED)
    found = first(ranks(source, SAVING))
    assert (found.code, found.culprits.members) == ("DD216", (1,))
    assert found.locations[0].line == lines(source, "sets")[0]


def test_a_flag_that_every_rank_sets_alike_explains_nothing() -> None:
    options = "import argparse\n\nargs = argparse.ArgumentParser().parse_args()\n\n"
    source = options + told("args.short", "control.should_stop = True")
    assert all(not point.sets for point in points(ranks(source, LEAVING)))
    assert first(ranks(source, LEAVING)).code != "DD206"


def test_an_attribute_of_the_jobs_own_object_is_no_flag_of_the_library() -> None:
    source = told("time.time() > self.limit", "self.should_save = True")
    assert all(not point.sets for point in points(ranks(source, SAVING)))


def test_clearing_a_flag_is_not_setting_it() -> None:
    source = told("time.time() > self.limit", "control.should_save = False")
    assert all(not point.sets for point in points(ranks(source, SAVING)))


def test_what_a_hook_answers_is_followed() -> None:
    source = JOB.replace(
        "        pass\n", "        pass\n\n    def on_batch_start(self, batch):\n        return -1  # sets\n"
    )
    (main,) = lines(source, "train")
    found = points(ranks(source, LEAVING))
    assert [(point.kind, point.shown, point.sets) for point in found] == [
        (BranchKind.CONDITION, MAIN.line(lines(source, "sets")[0], "on_batch_start"), "return -1")
    ]
    other = source.replace("return -1", "return 0")
    assert all(not point.sets for point in points(ranks(other, LEAVING)))
    assert main


def test_without_a_flag_the_loop_of_the_library_ended() -> None:
    found = first(ranks(JOB, LEAVING))
    # THEN it is no more than possible, because other parts of the library may end the loop
    assert (found.code, found.confidence, found.culprits.members) == ("DD201", Confidence.POSSIBLE, (1,))
    # and the line shown is the job's
    assert (found.locations[0].file, found.locations[0].line) == (MAIN.file, lines(JOB, "train")[0])


def test_one_line_that_runs_a_loop_is_not_one_statement() -> None:
    """An `except` around it explains nothing: the rank is still in it."""
    source = JOB.replace(
        "    loop.train()  # train\n",
        "    try:\n        loop.train()  # train\n    except KeyboardInterrupt:\n        pass\n",
    )
    assert all(point.kind is not BranchKind.EXCEPTION for point in points(ranks(source, LEAVING)))


OVERRIDING = """\
class Careful(Loop):
    def step(self, batch):
        try:
            return super().step(batch)  # inner
        except ValueError:  # caught
            return None

def main():
    loop = Careful()
    loop.train()  # train
"""
STEPPING = """\
class Loop:
    def train(self):
        for batch in self.batches():  # next
            self.step(batch)  # steps
            self.update()  # update
        self.gather()

    def step(self, batch):
        loss = self.model(batch)  # forward
        loss.backward()  # backward
"""


def test_an_exception_caught_around_the_method_of_a_base_class() -> None:
    at, steps, update, forward, backward = lines(STEPPING, "next", "steps", "update", "forward", "backward")
    (main,), (inner,) = lines(OVERRIDING, "train"), lines(OVERRIDING, "inner")

    def own(act: Act, line: int) -> Act:
        user = At(MAIN.file, "step").line(inner)
        below = LOOP.line(line, "step")
        return replace(act, site=user, path=(below, user, LOOP.line(steps, "train"), MAIN.line(main)))

    batch = [
        within(MAIN.next(main), (at, "train"), main=main),
        own(MAIN.forward(inner), forward),
        own(MAIN.backward(inner), backward),
        within(MAIN.update(main), (update, "train"), main=main),
    ]
    skipped = [batch[0], batch[1], batch[3]]
    usual, odd = Doing([*batch * 3, *batch[:3]]), Doing([*batch, *skipped, *batch, *batch[:3]])
    found = first(job([usual, odd, usual], code={LOOP.file: STEPPING, MAIN.file: OVERRIDING}))
    assert (found.code, found.culprits.members) == ("DD208", (1,))
    assert found.locations[0].line == lines(OVERRIDING, "caught")[0]


def test_paths_distinguish_two_operations_of_one_line() -> None:
    """Equal lines of the job and equal operations; only the library's lines differ."""
    one, other = (Site(LOOP.file, line, "save") for line in (GATHER, COUNT))
    (main,) = lines(JOB, "train")
    acts = [replace(MAIN.all("all_gather", main), path=(place, MAIN.line(main))) for place in (one, other)]
    history = digest(job([Doing([acts[0]]), Doing([acts[1]])], code={})).histories
    assert history[0].steps != history[1].steps  # type: ignore[index]


BARRIER = """\
def main():
    loop = Loop(callbacks=[stopper])
    loop.train()  # train
    dist.barrier()  # barrier
"""


def stopped(*, ended: bool = False, seen: bool = True) -> Evidence:
    """Rank 1 has returned from the library's loop, which goes on for the others. `ended`: its iterator had, too;
    `seen`: iterators are on record.
    """
    main, barrier = *lines(BARRIER, "train"), *lines(BARRIER, "barrier")
    frames = ((NEXT, "train"),)
    batch = [
        within(MAIN.next(main), *frames, main=main),
        within(MAIN.forward(main), (FORWARD, "step"), (STEPS, "train"), main=main),
        within(MAIN.backward(main), (BACKWARD, "train"), main=main),
    ][0 if seen else 1 :]
    user = MAIN.line(barrier)
    leaves = replace(MAIN.all("barrier", barrier), path=(user, MAIN.line(main + 2, "<module>")))
    end = [within(MAIN.stop(main), *frames, main=main)] if ended else []
    usual, odd = Doing([*batch, *batch, *batch]), Doing([*batch, *batch, *end, leaves])
    source = BARRIER + "main()\n"
    return job([usual, odd, usual], code={LOOP.file: LIBRARY, MAIN.file: source})


def test_a_call_that_runs_the_loop_returned_before_the_data_ended() -> None:
    found = first(stopped())
    assert (found.code, found.confidence, found.culprits.members) == ("DD206", Confidence.LIKELY, (1,))
    assert found.locations[0].line == lines(BARRIER, "train")[0]
    assert any("returned on rank 1" in sentence for sentence in found.evidence)


def test_it_is_not_said_where_the_data_ended_or_are_not_on_record() -> None:
    assert first(stopped(ended=True)).code == "DD201"
    assert first(stopped(seen=False)).code != "DD206"


RETRY = At("/env/lib/python3.11/site-packages/fitlib/memory.py", "decorator")
RETRYING = """\
def fitting(function):
    def decorator():
        size = 8
        while True:
            try:
                return function(size)  # calls
            except Exception:
                size = size // 2
    return decorator
"""
FITTED = """\
@fitting
def train(size):
    model = DistributedDataParallel(make())  # wraps
    for batch in loader(size):
        loss = model(batch)  # forward
        loss.backward()  # backward

train()  # starts
"""


def test_a_library_that_calls_the_jobs_function_again_after_an_exception() -> None:
    (calls,) = lines(RETRYING, "calls")
    wraps, forward, backward, starts = lines(FITTED, "wraps", "forward", "backward", "starts")
    job_at = At(MAIN.file, "train")
    outer = (RETRY.line(calls), MAIN.line(starts, "<module>"))

    def led(act: Act) -> Act:
        assert act.site is not None
        return replace(act, path=(act.site, *outer))

    wrap = led(job_at.all("verify_params", wraps))
    step = [led(job_at.forward(forward)), led(job_at.backward(backward))]
    usual, odd = Doing([wrap, *step * 4]), Doing([wrap, *step * 3, step[0], wrap])
    found = first(job([usual, odd, usual], code={RETRY.file: RETRYING, MAIN.file: FITTED}))
    assert (found.code, found.culprits.members, found.confidence) == ("DD208", (1,), Confidence.LIKELY)
    # THEN the line shown is the job's, and the handler is named
    assert (found.locations[0].file, found.locations[0].line) == (MAIN.file, wraps)
    assert "memory.py:7" in found.summary


ENGINE = At("/env/lib/python3.11/site-packages/engines/engine.py", "rounds")
GENERATOR = """\
class Engine:
    def run(self):
        for state in self.rounds():  # drives
            self.report(state)

    def rounds(self):
        while self.iteration < self.length:
            batch = next(self.batches)  # next
            yield self.state
            self.output = self.update(self, batch)  # updates
"""
UPDATED = """\
def forgiving(update):
    def inner(engine, batch):
        try:
            return update(engine, batch)  # calls
        except RuntimeError as problem:  # catches
            log(problem)
    return inner

@forgiving
def update(engine, batch):
    loss = model(batch)  # forward
    loss.backward()  # backward

Engine(update).run()  # starts
"""


def test_an_exception_caught_below_a_generator_of_a_library() -> None:
    drives, following, updates = lines(GENERATOR, "drives", "next", "updates")
    calls, catches, forward, backward, starts = lines(UPDATED, "calls", "catches", "forward", "backward", "starts")
    job_at = At(MAIN.file, "update")
    outer = (ENGINE.line(drives, "run"), MAIN.line(starts, "<module>"))
    below = (job_at.line(calls, "inner"), ENGINE.line(updates), *outer)
    following_batch = replace(ENGINE.next(following), site=outer[1], path=(ENGINE.line(following), *outer))
    steps = [job_at.forward(forward), job_at.backward(backward)]
    step = [following_batch, *(replace(act, path=(act.site, *below)) for act in steps if act.site)]
    usual, odd = Doing(step * 5), Doing([*step * 3, *step[:2], *step])
    found = first(job([usual, odd, usual], code={ENGINE.file: GENERATOR, MAIN.file: UPDATED}))
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD208", (1,), catches)


ASKS = """\
class Loop:
    @property
    def done(self):
        if self.trainer.should_stop and self.long_enough:
            return True
        return False

    def train(self):
        while not self.done:
            batch = next(self.feed)  # next
            self.model(batch)  # forward
            self.loss.backward()  # backward
            dist.broadcast(self.flag)  # agree
        self.call("end")
"""

STOPS = """\
class Watch(Callback):
    def on_step_end(self, trainer):
        if self.quiet > 5:
            trainer.should_stop = True  # sets

def main():
    loop.train()  # train
    save_all()  # save
"""


def test_a_flag_that_a_property_of_the_loop_tests_ended_it() -> None:
    """The loop's own line names only the property, and what the rank then calls is in no condition at all."""
    begins, runs, gives, agrees = lines(ASKS, "next", "forward", "backward", "agree")
    main, save, sets = lines(STOPS, "train", "save", "sets")
    batch = [
        within(MAIN.next(main), (begins, "train"), main=main),
        within(MAIN.forward(main), (runs, "train"), main=main),
        within(MAIN.backward(main), (gives, "train"), main=main),
        within(MAIN.all("broadcast", main), (agrees, "train"), main=main),
    ]
    here = MAIN.line(save)
    after = replace(MAIN.all("barrier", save), path=(here, MAIN.line(main + 2, "<module>")))
    usual, odd = Doing([*batch, *batch]), Doing([*batch, *batch[:3], after])
    found = first(job([usual, usual, odd], code={LOOP.file: ASKS, MAIN.file: STOPS}))
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD206", (2,), sets)


WRAPPERS = At("/env/lib/python3.11/site-packages/fitlib/ranks.py", "wrapper")
ONLY = """\
def one_rank_only(rank):
    def _one_rank_only(func):
        def wrapper(*args):
            if get_rank() == rank:
                return func(*args)  # calls
        return wrapper
    return _one_rank_only

def usual(func):
    if get_rank() == 0:
        log("begins")
    return func()  # passes
"""
HANDLER = """\
def main():
    loop = Loop(callbacks=[only(refresh)])
    loop.train()  # train

def refresh(state):
    dist.all_gather(scores, score)  # gathers
"""


def called_back(*frames: tuple[int, str]) -> Evidence:
    """Rank 1 is in a collective of the job's function that the library calls through these frames of its wrapper."""
    main, gathers = lines(HANDLER, "train", "gathers")
    batch = [
        within(MAIN.next(main), (NEXT, "train"), main=main),
        within(MAIN.forward(main), (FORWARD, "step"), (STEPS, "train"), main=main),
        within(MAIN.backward(main), (BACKWARD, "train"), main=main),
    ]
    user = MAIN.line(gathers, "refresh")
    path = (user, *(WRAPPERS.line(*frame) for frame in frames), LOOP.line(SAVES, "train"), MAIN.line(main))
    act = replace(At("/job/train.py", "refresh").all("all_gather", gathers), path=(*path, MAIN.line(5, "<module>")))
    usual = Doing([*batch, *batch])
    code = {LOOP.file: LIBRARY, MAIN.file: HANDLER, WRAPPERS.file: ONLY}
    return job([usual, Doing([*batch, act]), usual], code=code)


def test_a_decorators_wrapper_that_lets_one_rank_only() -> None:
    found = first(called_back((lines(ONLY, "calls")[0], "wrapper")))
    assert (found.code, found.culprits.members) == ("DD203", (1,))
    assert "Let all ranks run `refresh`" in found.fix


def test_a_wrapper_that_asks_the_rank_for_something_else_decides_nothing() -> None:
    found = first(called_back((lines(ONLY, "passes")[0], "usual")))
    assert "Let all ranks run" not in found.fix
