"""Evidence of several nodes merged, also if it was collected at different times."""

from __future__ import annotations

import pytest

from ddpdoctor.archive.merge_evidence import merge
from ddpdoctor.model.evidence import Evidence, RankEvidence, Timing
from ddpdoctor.model.processes import Exit
from ddpdoctor.model.progress import Raised
from ddpdoctor.model.ranks import Rank, Role, Worker
from ddpdoctor.model.stacks import Site, Stacks, StackSource, Thread

TIMING = Timing(0.0, 1.0, 2.0, 3.0)
PLACE = Site("/app/train.py", 26, "main")
LOST = Raised("RuntimeError", "Connection closed by peer [127.0.0.1]:30", 2.0, (PLACE,))
OWN = Raised("ValueError", "bad sample", 2.0, (PLACE,))


def part(rank: int, raised: Raised | None = None, status: int | None = None) -> Evidence:
    thread = Thread(10 + rank, "MainThread", (Site("/app/train.py", 24, "main"),))
    seen = RankEvidence(
        Rank(rank),
        Worker(10 + rank, 0.0, Role.RANK, Rank(rank)),
        stacks=Stacks(StackSource.PYSPY, (thread,)),
        raised=raised,
        exit=None if status is None else Exit(10 + rank, status, 3.0),
    )
    return Evidence(2, (seen,), TIMING)


@pytest.mark.parametrize(("raised", "status"), [(LOST, None), (LOST, 1), (None, -15), (LOST, -6)])
def test_who_was_ended_after_the_first_look_is_shown_as_it_stood(raised: Raised | None, status: int | None) -> None:
    whole = merge([part(0), part(1, raised, status)])
    late = whole.rank(Rank(1))
    assert late is not None
    assert (late.exit, late.raised) == (None, None)
    main = late.stacks.main() if late.stacks else None
    assert main is not None
    assert main.frames[0].line == (26 if raised else 24)
    assert any("several moments" in note for note in whole.notes)


@pytest.mark.parametrize(("raised", "status"), [(OWN, None), (OWN, 1), (None, -9), (None, 0)])
def test_an_end_with_a_reason_of_its_own_stays(raised: Raised | None, status: int | None) -> None:
    late = merge([part(0), part(1, raised, status)]).rank(Rank(1))
    assert late is not None
    assert (late.raised, late.exit is None) == (raised, status is None)


def test_where_all_have_ended_nothing_is_turned_back() -> None:
    late = merge([part(0, LOST, 1), part(1, LOST, 1)]).rank(Rank(1))
    assert late is not None
    assert late.raised == LOST
