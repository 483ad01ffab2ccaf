"""Nodes whose clocks have nothing in common: ages stay, and the same job gives the same verdict as on one host."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.meeting.clocks import shifted
from ddpdoctor.meeting.joint import gaps_of, join
from ddpdoctor.meeting.messages import Absent
from ddpdoctor.model.evidence import Evidence, Source
from ddpdoctor.model.ranks import Rank
from tests.unit.diagnose.builders import At, Doing, job, raised
from tests.unit.diagnose.stories import among, saves_alone
from tests.unit.meeting.test_wire import captured

AT = At()


def ages(evidence: Evidence) -> list[tuple[float, ...]]:
    now = evidence.timing.collected
    found = []
    for seen in evidence.ranks:
        assert seen.page is not None
        times = [seen.page.heartbeat, seen.page.moved, *(event.time for event in seen.page.events)]
        times += [call.since for call in seen.page.calls]
        found.append(tuple(round(now - time, 3) for time in times))
    return found


@given(st.floats(-1e6, 1e6))
def test_ages_do_not_depend_on_the_clock(by: float) -> None:
    evidence = among(4, 1, saves_alone)
    assert ages(shifted(evidence, by)) == ages(evidence)


@pytest.mark.parametrize("by", [-500_000.0, 500_000.0])
def test_the_first_failure_is_the_same_on_any_clock(by: float) -> None:
    """A rank that was killed, seen from the node whose clock is far ahead of, or behind, that of its victims."""
    killed = Doing([], blocked=False, exit_status=-9)
    lost = raised("RuntimeError", "Connection closed by peer", 99.0, AT.line(3))
    victim = Doing([], blocked=False, raised=lost, exit_status=1)
    whole = job([victim, killed])
    other = shifted(shifted(replace(whole, ranks=whole.ranks[1:]), by), -by)
    report = examine(replace(whole, ranks=(whole.ranks[0], *other.ranks)))
    assert report.diagnoses[0].culprits.members == (1,)


def test_captures_of_two_clocks_become_one_evidence() -> None:
    capture = captured()
    moved = replace(
        capture,
        samples=tuple(
            replace(
                one,
                time=one.time + 1000.0,
                workers=tuple(replace(w, rank=None if w.rank is None else Rank(w.rank + 2)) for w in one.workers),
            )
            for one in capture.samples
        ),
        timing=replace(capture.timing, collected=1006.0, last_progress=1003.0),
        exits=tuple(replace(one, time=one.time + 1000.0) for one in capture.exits),
    )
    joint = join({Rank(0): (capture, "node-0"), Rank(2): (moved, "node-1")}, Rank(0), [Absent("4-5", "node-2", "gone")])
    assert [seen.rank for seen in joint.ranks] == [0, 1, 2, 3]
    assert joint.hosts == {0: "node-0", 1: "node-0", 2: "node-1", 3: "node-1"}
    assert [seen.exit.time for seen in joint.ranks if seen.exit] == [4.5, 4.5]
    assert joint.timing.last_progress == 4.0
    assert joint.gaps[-1] == gaps_of([Absent("4-5", "node-2", "gone")])[0]
    assert (joint.gaps[-1].source, joint.gaps[-1].reason) == (Source.NODES, "node-2 (ranks 4-5) gone")


def test_who_judges_must_have_seen_something() -> None:
    with pytest.raises(ValueError, match="judges"):
        join({Rank(2): (captured(), "node-1")}, Rank(0))
