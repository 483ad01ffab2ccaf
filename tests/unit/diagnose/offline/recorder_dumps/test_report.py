"""Synthetic jobs with a known culprit, and small hand-made ones: culprit, code and confidence."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import pytest

from benchmarks.dumps.jobs import Family, dumps, job
from benchmarks.dumps.wire import Writer
from ddpdoctor.archive.flight_recorder import RecorderReader, step_of
from ddpdoctor.diagnose.offline.recorder_dumps.report import examine_dumps
from ddpdoctor.merge.recorder_set import complete, from_recorders
from ddpdoctor.model.collectives import Recorder, RecorderEntry
from ddpdoctor.model.diagnosis import Confidence, Deadlock, Outcome
from ddpdoctor.model.ranks import Group, Rank, RankSet
from ddpdoctor.model.recorder_set import Member, RecorderSet, Ring, Step
from ddpdoctor.model.report import Report
from ddpdoctor.model.stacks import Site


def crowd_of(family: Family, world: int, entries: int = 60) -> RecorderSet:
    reader = RecorderReader()
    members: dict[Rank, Member] = {}
    rings: dict[tuple[Step, ...], Ring] = {}
    for rank, head, made in dumps(job(family, world, entries)):
        dump = reader.read(Writer().dump(head, made))
        steps = tuple(step_of(reader.rows[number]) for number in dump.steps)
        named = (reader.groups[number] for number in dump.groups)
        groups = tuple(Group(name, tuple(map(Rank, ranks)), desc) for name, ranks, desc in named)
        members[Rank(rank)] = Member(Rank(rank), rings.setdefault(steps, Ring(steps, dump.truncated)), groups)
    return complete(members)


@pytest.mark.parametrize("world", [8, 64])
@pytest.mark.parametrize("family", list(Family))
def test_every_family_is_told(family: Family, world: int) -> None:
    wanted = job(family, world, 60)
    report = examine_dumps(crowd_of(family, world))
    first = report.diagnoses[0]
    assert (first.code, first.culprits) == (wanted.code, RankSet.of(wanted.culprits))
    assert report.outcome is Outcome.HANG
    assert report.deadlock is Deadlock.SUSPECTED
    assert all(d.confidence is not Confidence.CERTAIN for d in report.diagnoses)
    assert all(d.culprit_confidence is not Confidence.CERTAIN for d in report.diagnoses)
    assert len(report.ranks) == world


def test_a_circle_of_receives_names_its_ranks() -> None:
    first = examine_dumps(crowd_of(Family.PAIR_CYCLE, 8)).diagnoses[0]
    assert "ranks 0-3 receive in a cycle" in first.summary
    assert "rank 0 is in recv from rank 3 and needs rank 3" in " ".join(first.evidence)


def test_a_skipped_operation_is_named_with_its_place() -> None:
    first = examine_dumps(crowd_of(Family.SKIPPED, 8)).diagnoses[0]
    assert "rank 5 left out all_reduce at train.py:81" in first.summary


AT = {line: Site("/job/train.py", line, "main") for line in range(10, 20)}


def entry(seq: int, line: int = 10, **changed: object) -> RecorderEntry:
    plain = RecorderEntry(seq, "all_reduce", "nccl", "0", ((4,),), ("Float",), 0, "completed", True, AT[line])
    return dataclasses.replace(plain, **changed)  # type: ignore[arg-type]


def waits(seq: int, line: int = 10, **changed: object) -> RecorderEntry:
    return entry(seq, line, state="scheduled", retired=False, **changed)


def verdict(rings: Mapping[int, list[RecorderEntry]], world: int, groups: tuple[Group, ...] = ()) -> Report:
    everyone = Group("0", tuple(Rank(rank) for rank in range(world)), "default_pg")
    recorders = {
        Rank(rank): Recorder("2.10", tuple(entries), (everyone, *(g for g in groups if rank in g.members)))
        for rank, entries in rings.items()
    }
    return examine_dumps(from_recorders(recorders, world))


def test_nothing_outstanding_is_healthy() -> None:
    report = verdict({0: [entry(1)], 1: [entry(1)]}, 2)
    assert report.outcome is Outcome.HEALTHY
    assert not report.diagnoses


def test_all_in_one_operation_is_no_ranks_fault() -> None:
    first = verdict({rank: [entry(1), waits(2)] for rank in range(4)}, 4).diagnoses[0]
    assert (first.code, first.culprits, first.confidence) == ("DD271", RankSet(), Confidence.POSSIBLE)
    first = verdict({rank: [entry(1), waits(2, timed_out=True)] for rank in range(4)}, 4).diagnoses[0]
    assert first.confidence is Confidence.LIKELY


def test_another_group_that_is_open_is_not_the_transport() -> None:
    groups = (Group("b", (Rank(0), Rank(1)), "b"),)
    rings = {rank: [entry(1), waits(2), waits(1, 12, group="b")] for rank in range(2)}
    report = verdict(rings, 2, groups)
    assert [(found.code, found.confidence) for found in report.diagnoses] == [("DD272", Confidence.POSSIBLE)]
    assert "operations of group b are open as well" in report.diagnoses[0].summary
    # THEN what has finished there is no reason
    rings = {rank: [entry(1), entry(1, 12, group="b"), waits(2)] for rank in range(2)}
    assert [found.code for found in verdict(rings, 2, groups).diagnoses] == ["DD271"]


def test_a_rank_without_a_dump_is_a_possible_culprit() -> None:
    first = verdict({rank: [entry(1), waits(2)] for rank in (0, 1, 3)}, 4).diagnoses[0]
    assert first.culprits == RankSet.of([2])
    assert first.culprit_confidence is Confidence.POSSIBLE
    assert "left no dump" in first.summary


def test_a_rank_that_is_absent_counts_before_one_without_a_dump() -> None:
    first = verdict({0: [entry(1), waits(2)], 1: [entry(1)], 3: [entry(1), waits(2)]}, 4).diagnoses[0]
    assert first.culprits == RankSet.of([1])


def test_few_that_came_alone_are_named_rather_than_all_others() -> None:
    rings = {rank: [entry(1)] for rank in range(1, 4)} | {0: [entry(1), waits(2, 14)]}
    first = verdict(rings, 4).diagnoses[0]
    assert first.culprits == RankSet.of([0])
    assert first.culprit_confidence is Confidence.POSSIBLE
    assert "only rank 0 reached all_reduce at train.py:14" in first.summary


@pytest.mark.parametrize(
    ("changed", "code"),
    [({"op": "all_gather"}, "DD213"), ({"input_sizes": ((5,),)}, "DD214"), ({"input_dtypes": ("Double",)}, "DD215")],
)
def test_one_that_does_not_fit(changed: dict[str, object], code: str) -> None:
    rings = {rank: [entry(1), waits(2)] for rank in range(3)} | {3: [entry(1), waits(2, 15, **changed)]}
    first = verdict(rings, 4).diagnoses[0]
    assert (first.code, first.culprits) == (code, RankSet.of([3]))
    assert first.locations[0].line == 15


def test_two_that_do_not_fit_have_no_majority() -> None:
    first = verdict({0: [waits(1)], 1: [waits(1, 11, op="barrier")]}, 2).diagnoses[0]
    assert (first.code, first.culprits, first.culprit_confidence) == ("DD213", RankSet(), Confidence.POSSIBLE)


@pytest.mark.parametrize("op", ["all_to_all", "gather", "scatter", "all_gather_v"])
def test_sizes_that_may_differ_are_no_mismatch(op: str) -> None:
    rings = {rank: [waits(1, op=op, input_sizes=((rank + 1,),))] for rank in range(4)}
    assert verdict(rings, 4).diagnoses[0].code == "DD271"


def test_places_that_differ_are_no_shift() -> None:
    """Rank 0 logs from its own line: the same operations, and no rank is shifted."""
    rings = {rank: [entry(n, 11 if rank == 0 else 10) for n in range(1, 9)] + [waits(9)] for rank in range(3)}
    rings[3] = [entry(n) for n in range(1, 9)]
    first = verdict(rings, 4).diagnoses[0]
    assert first.culprits == RankSet.of([3])


def test_an_added_operation_is_told_from_a_skipped_one() -> None:
    usual = [10, 11, 12, 13, 10, 11, 12, 13, 10]
    added = [10, 11, 12, 19, 13, 10, 11, 12, 13]
    rings = {rank: [entry(n, line) for n, line in enumerate(usual, 1)] for rank in range(3)}
    rings[3] = [entry(n, line) for n, line in enumerate(added, 1)] + [waits(10, 10)]
    first = verdict(rings, 4).diagnoses[0]
    assert first.culprits == RankSet.of([3])
    assert "rank 3 added all_reduce at train.py:19" in first.summary


def test_a_chain_through_groups_ends_at_the_rank_that_stands_nowhere() -> None:
    pairs = tuple(Group(str(n), (Rank(n - 1), Rank(n)), f"pair{n}") for n in range(1, 4))
    rings = {
        0: [waits(1, 10, group="1")],
        1: [waits(1, 11, group="2")],
        2: [waits(1, 12, group="3")],
        3: [entry(1, 13)],
    }
    report = verdict(rings, 4, pairs)
    assert report.diagnoses[0].culprits == RankSet.of([3])
    assert str(report.diagnoses[0].waiting) == "0-2"


def test_a_batch_whose_peer_has_not_come() -> None:
    def pair(op: str, peer: int) -> RecorderEntry:
        return waits(1, 16, op=op, p2p=True, peer=Rank(peer))

    rings = {0: [pair("send", 1), pair("recv", 1)], 1: [entry(1)], 2: [entry(1)]}
    first = verdict(rings, 3).diagnoses[0]
    assert first.culprits == RankSet.of([1])
    met = {0: [pair("send", 1), pair("recv", 1)], 1: [pair("recv", 0), pair("send", 0)]}
    assert verdict(met, 2).diagnoses[0].code == "DD271"


def test_a_rank_in_an_operation_that_the_others_have_passed() -> None:
    rings = {rank: [entry(7), waits(8)] for rank in (0, 1, 3)} | {2: [waits(7, 15)]}
    first = verdict(rings, 4).diagnoses[0]
    assert (first.code, first.culprits) == ("DD299", RankSet.of([2]))
    assert "rank 2 stands in all_reduce at train.py:15, number 7 of the default group" in first.summary


def test_a_leaf_of_a_broadcast_may_be_late() -> None:
    rings = {0: [entry(7, op="broadcast")], 1: [waits(7, op="broadcast")]}
    assert verdict(rings, 2).diagnoses[0].culprits == RankSet()


def test_two_ranks_that_miss_different_operations_are_both_told_and_neither_is_likely() -> None:
    pair = Group("1", (Rank(0), Rank(1)), "pair")
    rings = {
        0: [entry(1), waits(1, 11, group="1")],
        1: [entry(1)],
        2: [entry(1), waits(2)],
        3: [entry(1)],
    }
    found = verdict(rings, 4, (pair,)).diagnoses
    assert {rank for diagnosis in found for rank in diagnosis.culprits} >= {1}
    assert {diagnosis.culprit_confidence for diagnosis in found} == {Confidence.POSSIBLE}


def test_groups_without_names_of_their_members_are_no_failure_of_the_transport() -> None:
    """gloo's dumps name none: rank 0 can be a member of the group in which ranks 1 and 2 wait."""
    rings = {rank: [waits(1, 10 + (rank > 0), group="2" if rank else "1", backend="gloo")] for rank in range(3)}
    report = examine_dumps(
        from_recorders({Rank(rank): Recorder("2.10", tuple(ring)) for rank, ring in rings.items()}, 3)
    )
    first = report.diagnoses[0]
    assert (first.code, first.confidence, first.culprits) == ("DD220", Confidence.POSSIBLE, RankSet())
    assert {(place.line, place.ranks.members) for place in first.locations} == {(10, (0,)), (11, (1, 2))}
    assert all(diagnosis.code != "DD271" for diagnosis in report.diagnoses)


def test_one_such_group_leaves_it_open() -> None:
    rings = {
        0: [waits(4, 12, backend="gloo", op="barrier")],
        1: [waits(1, 11, group="2", backend="gloo")],
        2: [waits(1, 11, group="2", backend="gloo")],
    }
    report = examine_dumps(
        from_recorders({Rank(rank): Recorder("2.10", tuple(ring)) for rank, ring in rings.items()}, 3)
    )
    assert "DD271" not in [diagnosis.code for diagnosis in report.diagnoses]
