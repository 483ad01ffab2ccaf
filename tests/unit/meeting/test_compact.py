"""A large job judged by a few of its ranks: the same verdict as on all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.meeting.compact import Compact, Host, Standing, compacted, expanded, reduced
from ddpdoctor.meeting.digest import digest
from ddpdoctor.meeting.episode import MOST_RANKS, classes, representatives
from ddpdoctor.meeting.messages import Digest, pack, unpack
from ddpdoctor.model.evidence import Evidence
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.report import Report
from tests.unit.diagnose.builders import Doing
from tests.unit.diagnose.stories import among, left_early, ran_out, saves_alone, skipped, without_sync

#: ranks of one node
NODE = 8


def digests(evidence: Evidence) -> dict[Rank, Digest]:
    found = {}
    for first in range(0, evidence.world_size, NODE):
        here = tuple(seen for seen in evidence.ranks if first <= seen.rank < first + NODE)
        found[Rank(first)] = digest(replace(evidence, ranks=here), Rank(first), 5.0, stopped=RankSet(), stops=False)
    return found


def by_a_few(evidence: Evidence) -> tuple[Report, int]:
    """The verdict, and how many ranks it was made of."""
    told = digests(evidence)
    chosen = representatives(told)
    standing = Standing.of(chosen, classes(told), evidence.world_size)
    few = replace(evidence, ranks=tuple(seen for seen in evidence.ranks if seen.rank in chosen))
    report = examine(reduced(few, standing))
    return expanded(report, standing, {rank: f"node-{rank // NODE}" for rank in RankSet.of(range(64))}), len(chosen)


@pytest.mark.parametrize("story", [ran_out, left_early, skipped, saves_alone, without_sync])
@pytest.mark.parametrize("odd", [0, 3, 63])
def test_a_few_ranks_give_the_verdict_of_all(story: Callable[[], Doing], odd: int) -> None:
    evidence = among(64, odd, story)
    whole, (few, number) = examine(evidence), by_a_few(evidence)
    assert number <= MOST_RANKS
    first, expected = few.diagnoses[0], whole.diagnoses[0]
    assert (few.outcome, few.deadlock) == (whole.outcome, whole.deadlock)
    assert (first.code, first.confidence, first.culprits) == (expected.code, expected.confidence, expected.culprits)
    assert first.waiting == expected.waiting
    assert first.summary == expected.summary
    assert [status.rank for status in few.ranks] == list(range(64))
    assert [one.location and one.location.ranks for one in few.ranks] == [
        one.location and one.location.ranks for one in whole.ranks
    ]
    assert {status.host for status in few.ranks if status.rank in first.culprits} == {f"node-{odd // NODE}"}
    assert [location.ranks for location in first.locations] == [location.ranks for location in expected.locations]


def test_a_verdict_on_many_ranks_travels_as_that_on_a_few() -> None:
    evidence = among(64, 3, saves_alone)
    told = digests(evidence)
    chosen = representatives(told)
    standing = Standing.of(chosen, classes(told), evidence.world_size)
    few = replace(evidence, ranks=tuple(seen for seen in evidence.ranks if seen.rank in chosen))
    small = replace(examine(reduced(few, standing)), code={})
    hosts = {Rank(rank): f"node-{rank // NODE}" for rank in range(64)}
    sent = pack(compacted(small, standing, [Host(str(one.members), hosts[node]) for node, one in told.items()]))
    whole = expanded(small, standing, hosts)
    assert unpack(Compact, sent).whole() == whole
    assert len(sent) < len(pack(whole))


def test_a_verdict_about_ranks_that_stand_for_none_is_refused() -> None:
    report = examine(among(64, 3, saves_alone))
    with pytest.raises(ValueError, match="stands for none"):
        Compact(report, ("0-63",)).whole()


def test_ranks_that_nobody_saw_stay_unseen() -> None:
    evidence = among(64, 3, saves_alone)
    told = {node: one for node, one in digests(evidence).items() if node != 56}
    chosen = representatives(told)
    standing = Standing.of(chosen, classes(told), 64)
    few = replace(evidence, ranks=tuple(seen for seen in evidence.ranks if seen.rank in chosen))
    report = expanded(examine(reduced(few, standing)), standing, {})
    assert [status.rank for status in report.ranks if status.state == "unseen"] == list(range(56, 64))
    assert [found.culprits.members for found in report.diagnoses] == [()]
    assert "ranks 56-63" in report.diagnoses[0].summary


def test_a_digest_of_ranks_that_behave_alike_is_small() -> None:
    for told in digests(among(64, 3, saves_alone)).values():
        assert len(pack(told)) <= 2048
