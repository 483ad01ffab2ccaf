"""A framework's loop over batches that one rank has left behind, where its epochs are turns of a loop, too."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.evidence import Evidence
from ddpdoctor.model.progress import Counters, LoaderCount
from tests.unit.diagnose.builders import Act, At, Doing, job
from tests.unit.diagnose.divergence.test_control_flow_diff import lines

LOOP = At("/env/lib/python3.11/site-packages/fitlib/loop.py", "train")
MAIN = At("/job/train.py", "main")

LIBRARY = """\
class Loop:
    def train(self):
        for epoch in range(self.epochs):
            self.epoch(epoch)  # epochs

    def epoch(self, number):
        batches = iter(self.loader)
        for step in range(self.steps):
            batch = self.take(batches)  # takes
            if batch is None:
                raise ValueError(step)
            self.model(batch).backward()  # works
            self.optimizer.step()  # updates
            self.hook("on_step_end", self.control)
            if self.control.should_stop:
                break
        self.perhaps_evaluate()  # evaluates

    def take(self, batches):
        return next(batches)  # next

    def perhaps_evaluate(self):
        if self.control.should_evaluate:
            for batch in self.held_back:  # held
                self.gather(batch)  # gathers
"""

JOB = """\
class Watch(Callback):
    def on_step_end(self, control):
        pass

def main():
    loop = Loop(callbacks=[Watch()])
    loop.train()  # train
"""

EPOCHS, TAKES, WORKS, UPDATES, EVALUATES, NEXT, HELD, GATHERS = lines(
    LIBRARY, "epochs", "takes", "works", "updates", "evaluates", "next", "held", "gathers"
)
OUTER = (EPOCHS, "train")


def _act(act: Act, *frames: tuple[int, str], main: int) -> Act:
    """An act that the library does for the job's only line, in an epoch."""
    path = tuple(LOOP.line(line, function) for line, function in (*frames, OUTER))
    user = MAIN.line(main)
    return replace(act, site=user, path=(*path, user, MAIN.line(main + 2, "<module>")))


def _evaluating(
    batches: int, *, made: int, length: int | None, source: str = JOB, library: str = LIBRARY, odd: int = 1
) -> Evidence:
    """Three ranks that take equally many batches; one then evaluates, and the others wait in one batch more."""
    (main,) = lines(source, "train")
    batch = [
        _act(MAIN.next(main), (NEXT, "take"), (TAKES, "epoch"), main=main),
        _act(MAIN.forward(main), (WORKS, "epoch"), main=main),
        _act(MAIN.backward(main), (WORKS, "epoch"), main=main),
        _act(MAIN.update(main), (UPDATES, "epoch"), main=main),
    ]
    aside = ((HELD, "perhaps_evaluate"), (EVALUATES, "epoch"))
    gathered = _act(MAIN.all("all_gather", main), (GATHERS, "perhaps_evaluate"), aside[1], main=main)
    usual = Doing([*batch * batches, *batch[:3]])
    alone = Doing([*batch * batches, _act(MAIN.next(main), *aside, main=main), gathered])
    evidence = job([alone if rank == odd else usual for rank in range(3)], code={LOOP.file: library, MAIN.file: source})
    loader = LoaderCount(MAIN.line(main), batches + 1, 0, made=made, length=length)
    counters = Counters((loader,), batches + 1, 0, batches + 1, batches)
    return replace(
        evidence,
        ranks=tuple(
            seen if seen.rank == odd or seen.page is None else replace(seen, page=replace(seen.page, counters=counters))
            for seen in evidence.ranks
        ),
    )


def _first(evidence: Evidence) -> Diagnosis:
    return examine(evidence).diagnoses[0]


@pytest.mark.parametrize(
    ("batches", "made", "length"),
    [(5, 1, None), (5, 2, 4), (7, 2, 5)],
    ids=["its first epoch", "the second batch of the second epoch", "the third batch"],
)
def test_amid_their_data_the_others_have_begun_no_other_epoch(batches: int, made: int, length: int | None) -> None:
    found = _first(_evaluating(batches, made=made, length=length))
    assert (found.code, found.culprits.members, found.confidence) == ("DD201", (1,), Confidence.POSSIBLE)
    assert found.locations[0].line == lines(JOB, "train")[0]


@pytest.mark.parametrize(
    ("batches", "made", "length"),
    [(4, 2, 4), (8, 3, 4), (5, 6, 1), (5, 2, None), (0, 1, None)],
    ids=["second epoch", "third epoch", "epochs of one batch", "an unknown length", "the first batch of all"],
)
def test_a_batch_that_may_be_the_first_of_another_epoch_shows_no_end(
    batches: int, made: int, length: int | None
) -> None:
    """All ranks may have ended the epoch, and only one evaluates then."""
    assert _first(_evaluating(batches, made=made, length=length)).code != "DD201"


def test_a_flag_of_the_jobs_that_ends_the_loop_is_shown_instead() -> None:
    does = "        if time.time() > self.limit:\n            control.should_stop = True  # sets\n"
    source = JOB.replace("        pass\n", does)
    found = _first(_evaluating(5, made=1, length=None, source=source))
    assert (found.code, found.culprits.members) == ("DD206", (1,))
    assert found.locations[0].line == lines(source, "sets")[0]


@pytest.mark.parametrize(
    "way", ["if self.clock.over():\n                break", "if other(step):\n                break"]
)
def test_another_way_out_of_the_loop_leaves_it_open(way: str) -> None:
    library = LIBRARY.replace("if self.control.should_stop:\n                break", way)
    assert _first(_evaluating(5, made=1, length=None, library=library)).code == "DD299"


def test_an_evaluation_within_the_loop_does_not_leave_it() -> None:
    library = LIBRARY.replace("        self.perhaps_evaluate()", "            self.perhaps_evaluate()")
    assert _first(_evaluating(5, made=1, length=None, library=library)).code != "DD201"
