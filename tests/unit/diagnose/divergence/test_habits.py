"""Ranks with roles of their own, which never run the same lines: the one that broke its own habit left the others."""

from __future__ import annotations

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.collectives import Kind
from ddpdoctor.model.diagnosis import Confidence
from ddpdoctor.model.progress import EventKind
from tests.unit.diagnose.builders import Act, At, Doing, job

AT = At()

PROGRAM = """\
class Actor:
    def run(self):
        for _ in range(400):
            dist.broadcast(self.flat, src=0)       # line 4
            dist.gather(self.unroll(), dst=0)      # line 5


class Learner:
    def run(self):
        for update in range(400):
            dist.broadcast(self.flat, src=0)       # line 11
            dist.gather(self.idle, self.slots, dst=0)
            self.loss().backward()                 # line 13
            {leave}
                break                              # line 15


def main():
    peer = Learner() if dist.get_rank() == 0 else Actor()
    peer.run()                                     # line 20
    dist.barrier()                                 # line 21


main()                                             # line 24
"""


def _gather(line: int) -> Act:
    return Act(EventKind.CALL, AT.line(line, "run"), "gather", Kind.TO_ROOT, root=0)


def _round(first: int) -> list[Act]:
    return [AT.broadcast(first, 0, function="run"), _gather(first + 1)]


LEARNS = [*_round(11), AT.backward(13)]
MAIN, MODULE = AT.line(20, "main"), AT.line(24, "<module>")
ACTOR = Doing([*_round(4) * 3, AT.broadcast(4, 0, function="run")], callers=(MAIN, MODULE))
LEFT = Doing([*LEARNS * 3, AT.all("barrier", 21, function="main")], callers=(MODULE,))


def test_a_learner_that_stops_by_itself_decided_alone() -> None:
    code = {AT.file: PROGRAM.format(leave="if self.plateau.reached(self.returns):")}
    found = examine(job([LEFT, ACTOR, ACTOR], code=code)).diagnoses[0]
    assert (found.code, found.confidence, found.culprits.members) == ("DD206", Confidence.LIKELY, (0,))
    assert found.locations[0].line == 15


def test_two_ranks_need_no_majority() -> None:
    code = {AT.file: PROGRAM.format(leave="if self.plateau.reached(self.returns):")}
    found = examine(job([LEFT, ACTOR], code=code)).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD206", (0,))


@pytest.mark.parametrize("size", [2, 3])
def test_without_source_nobody_is_named_for_sure(size: int) -> None:
    report = examine(job([LEFT, *[ACTOR] * (size - 1)]))
    assert all(one.confidence is Confidence.POSSIBLE for one in report.diagnoses)


def test_an_actor_that_no_longer_does_what_it_did_is_the_odd_one() -> None:
    """The learner is where it always was; the actor reached the barrier."""
    code = {
        AT.file: PROGRAM.format(leave="if False:").replace(
            "range(400):\n            dist.broadcast(self.flat, src=0)       # line 4",
            "self.episodes:\n            dist.broadcast(self.flat, src=0)       # line 4",
        )
    }
    learner = Doing([*LEARNS * 3, AT.broadcast(11, 0, function="run")], callers=(MAIN, MODULE))
    actor = Doing([*_round(4) * 3, AT.all("barrier", 21, function="main")], callers=(MODULE,))
    usual = Doing([*_round(4) * 3, AT.broadcast(4, 0, function="run")], callers=(MAIN, MODULE))
    found = examine(job([learner, usual, actor], code=code)).diagnoses[0]
    assert found.culprits.members == (2,)


STAGES = """\
class Stage:
    def step(self, rows):
        if self.first:
            dist.send(rows, 1)                     # line 4
        else:
            dist.recv(rows, 0)                     # line 6
        self.optimizer.step()                      # line 7
        return self.loss()


def train(stage):
    for _ in range(200):
        loss = stage.step(rows())                  # line 13
        if loss is not None and loss < 0.1:
            return                                 # line 15


train(Stage())                                     # line 18
dist.barrier()                                     # line 19
"""


def _at(line: int, act: EventKind, op: str = "", call: Kind = Kind.ALL, peer: int | None = None) -> Act:
    path = (AT.line(line, "step"), AT.line(13, "train"), AT.line(18, "<module>"))
    return Act(act, AT.line(line, "step"), op, call, peer=peer, path=path)


SENDS, RECEIVES = _at(4, EventKind.CALL, "send", Kind.SEND, 1), _at(6, EventKind.CALL, "recv", Kind.RECV, 0)
UPDATES = _at(7, EventKind.OPTIMIZER_STEP)
FIRST = [SENDS, _at(4, EventKind.BACKWARD), UPDATES]
LAST = [RECEIVES, _at(6, EventKind.BACKWARD), UPDATES]
ON_THE_WAY = (AT.line(13, "train"), AT.line(18, "<module>"))
AFTER = AT.all("barrier", 19, function="<module>")
STARTED = AT.all("init_process_group", 1)


def test_a_stage_that_began_no_other_round_although_its_partner_sends() -> None:
    first = Doing([STARTED, *FIRST * 4, SENDS], callers=ON_THE_WAY)
    last = Doing([STARTED, *LAST * 4, AFTER])
    found = examine(job([first, last], code={AT.file: STAGES})).diagnoses[0]
    assert (found.code, found.culprits.members, found.confidence) == ("DD206", (1,), Confidence.LIKELY)
    assert found.locations[0].line == 15


def test_too_few_rounds_show_no_habit() -> None:
    first = Doing([STARTED, *FIRST, SENDS], callers=ON_THE_WAY)
    last = Doing([STARTED, *LAST, AFTER])
    assert examine(job([first, last], code={AT.file: STAGES})).diagnoses[0].code != "DD206"


def test_a_stage_that_reports_alone_has_not_left_its_loop() -> None:
    code = STAGES.replace(
        "if loss is not None and loss < 0.1:\n            return                                 # line 15",
        "if dist.get_rank() == 1:\n            dist.all_reduce(loss)                  # line 15",
    )
    first = Doing([STARTED, *FIRST * 4, SENDS], callers=ON_THE_WAY)
    path = (AT.line(15, "train"), AT.line(18, "<module>"))
    reports = Act(EventKind.CALL, path[0], "all_reduce", path=path)
    last = Doing([STARTED, *LAST * 4, reports], callers=path[1:])
    found = examine(job([first, last], code={AT.file: code})).diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD203", (1,), 15)
