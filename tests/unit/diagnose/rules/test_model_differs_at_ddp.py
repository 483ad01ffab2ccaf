"""Models that differ when DistributedDataParallel is built."""

from __future__ import annotations

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence
from tests.unit.diagnose.builders import At, Doing, job, raised

AT = At()
SIZES = "[2]: params[0] in this process with sizes [5] appears not to match sizes of the same param in process 0."
COUNT = "DDP expects same model across all ranks, but Rank {} has {} params, while rank {} has inconsistent {} params."
LOST = raised("RuntimeError", "Connection closed by peer [127.0.0.1]:1", 50.2, AT.line(3))


@pytest.mark.parametrize("odd", [1, 2])
def test_who_differs_from_rank_0(odd: int) -> None:
    error = raised("RuntimeError", SIZES, 50.0, AT.line(3))
    doing = [Doing([], exit_status=1, raised=error if rank == odd else LOST) for rank in range(3)]
    report = examine(job(doing))
    found = report.diagnoses[0]
    assert (found.code, found.culprits.members, found.confidence) == ("DD264", (odd,), Confidence.CERTAIN)
    assert all(d.confidence is not Confidence.CERTAIN for d in report.diagnoses[1:])


@pytest.mark.parametrize("odd", [0, 1, 2])
def test_of_unequal_numbers_of_parameters_most_decide(odd: int) -> None:
    """Every rank raises, and names the first that has not as many as it has itself."""
    has = [6 if rank == odd else 8 for rank in range(3)]
    unlike = [next(other for other in range(3) if has[other] != has[rank]) for rank in range(3)]
    said = [COUNT.format(rank, has[rank], unlike[rank], has[unlike[rank]]) for rank in range(3)]
    doing = [Doing([], exit_status=1, raised=raised("RuntimeError", one, 50.0, AT.line(3))) for one in said]
    found = examine(job(doing)).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD264", (odd,))
    assert f"the model of rank {odd} differs from that of ranks" in found.summary


def test_of_two_ranks_neither_is_unlike_most() -> None:
    said = [COUNT.format(0, 8, 1, 6), COUNT.format(1, 6, 0, 8)]
    doing = [Doing([], exit_status=1, raised=raised("RuntimeError", one, 50.0, AT.line(3))) for one in said]
    found = examine(job(doing)).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD264", ())
    assert "the models of ranks 0-1 differ" in found.summary


def test_if_all_others_complain_it_is_rank_0() -> None:
    error = raised("RuntimeError", SIZES, 50.0, AT.line(3))
    doing = [Doing([], exit_status=1, raised=LOST if rank == 0 else error) for rank in range(4)]
    assert examine(job(doing)).diagnoses[0].culprits.members == (0,)


def test_no_parameters_at_all_may_be_a_dead_peer() -> None:
    said = COUNT.format(1, 8, 0, 0)
    error = raised("RuntimeError", said, 50.0, AT.line(3))
    found = examine(job([Doing([], exit_status=1, raised=LOST), Doing([], exit_status=1, raised=error)])).diagnoses[0]
    assert (found.code, found.confidence) == ("DD264", Confidence.LIKELY)
