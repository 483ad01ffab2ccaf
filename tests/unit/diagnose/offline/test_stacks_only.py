"""What stacks and source show without a history: a collective that only some ranks can reach."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.evidence import Evidence, RankEvidence, SourceFile, Timing
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.ranks import Rank, Role, Worker
from ddpdoctor.model.stacks import Site, Stacks, StackSource, Thread

C10D = "/x/torch/distributed/distributed_c10d.py"
CODE = """import torch.distributed as dist
def main():
    rank = dist.get_rank()
    for batch in loader:
        step(batch)
        if rank == 0:
            dist.barrier()
        dist.all_reduce(total)
        if rank == 0:
            dist.send(total, 1)
        else:
            dist.recv(total, 0)
        if rank == 0:
            dist.broadcast(total, src=0)
        else:
            dist.broadcast(other, src=0)
        if rank == 0:
            dist.all_gather(parts, total, group=leaders)
        if rank != 0:
            return
        dist.gather(total, parts)
"""


def look(stands: Mapping[int, tuple[int, str]], world: int = 3, *, code: str = CODE) -> Evidence:
    """Ranks at lines of `main`, inside of a call of torch where one is named."""
    ranks = []
    for rank, (line, op) in stands.items():
        inside = (Site(C10D, 9, op),) if op else ()
        thread = Thread(900 + rank, "MainThread", (*inside, Site("/t.py", line, "main")), active=Observed.NO)
        worker = Worker(900 + rank, 0.0, Role.RANK, Rank(rank))
        ranks.append(RankEvidence(Rank(rank), worker, stacks=Stacks(StackSource.PYSPY, (thread,))))
    timing = Timing(0.0, 0.0, 0.0, 0.0)
    return Evidence(world, tuple(ranks), timing, code={"/t.py": SourceFile("/t.py", code)}, reported_hanging=True)


def found(evidence: Evidence) -> list[Diagnosis]:
    return [diagnosis for diagnosis in examine(evidence).diagnoses if diagnosis.code == "DD203"]


def test_a_collective_past_a_condition_on_the_rank_is_likely_the_cause() -> None:
    (first,) = found(look({0: (7, "barrier"), 1: (8, "all_reduce"), 2: (8, "all_reduce")}))
    assert (first.confidence, first.culprit_confidence) == (Confidence.LIKELY, Confidence.LIKELY)
    assert first.culprits.members == (0,)
    assert first.locations[0].line == 7
    assert "if rank == 0:" in first.fix


def test_one_that_others_were_sent_away_from_is_one_too() -> None:
    (first,) = found(look({0: (21, "gather"), 1: (4, ""), 2: (4, "")}))
    assert first.culprits.members == (0,)


def test_of_two_ranks_neither_is_to_blame_for_sure() -> None:
    (first,) = found(look({0: (7, "barrier"), 1: (8, "all_reduce")}, world=2))
    assert first.culprit_confidence is Confidence.POSSIBLE


@pytest.mark.parametrize(
    ("stands", "world"),
    [
        pytest.param({0: (8, "all_reduce"), 1: (5, ""), 2: (8, "all_reduce")}, 3, id="no condition"),
        pytest.param({0: (10, "send"), 1: (8, "all_reduce"), 2: (8, "all_reduce")}, 3, id="point to point"),
        pytest.param({0: (14, "broadcast"), 1: (8, "all_reduce"), 2: (8, "all_reduce")}, 3, id="the else does it too"),
        pytest.param({0: (14, "broadcast"), 1: (16, "broadcast"), 2: (16, "broadcast")}, 3, id="a way for each"),
        pytest.param({0: (18, "all_gather"), 1: (8, "all_reduce"), 2: (8, "all_reduce")}, 3, id="a group of some"),
        pytest.param({0: (7, "barrier"), 1: (8, "all_reduce")}, 3, id="a rank was not seen"),
    ],
)
def test_what_can_be_right_is_not_blamed(stands: Mapping[int, tuple[int, str]], world: int) -> None:
    assert found(look(stands, world)) == []


def test_without_its_source_nothing_is_said() -> None:
    assert found(look({0: (7, "barrier"), 1: (8, "all_reduce"), 2: (8, "all_reduce")}, code="")) == []
