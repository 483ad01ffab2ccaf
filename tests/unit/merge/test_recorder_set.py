"""Recorders merged: equal rings are shared; a group that no dump describes gets the members that used it."""

from __future__ import annotations

from ddpdoctor.merge.recorder_set import complete, from_recorders
from ddpdoctor.model.collectives import Recorder, RecorderEntry
from ddpdoctor.model.ranks import Group, Rank
from ddpdoctor.model.recorder_set import expand


def entry(group: str, seq: int, **changed: object) -> RecorderEntry:
    fields: dict[str, object] = {
        "seq": seq, "op": "all_reduce", "backend": "gloo", "group": group, "input_sizes": ((1,),),
        "input_dtypes": ("Float",), "created_ns": 0, "state": "completed", "retired": True,
    }  # fmt: skip
    return RecorderEntry(**{**fields, **changed})  # type: ignore[arg-type]


def test_ranks_of_different_groups_share_a_ring() -> None:
    groups = [Group(str(n), (Rank(2 * n), Rank(2 * n + 1)), "pair") for n in range(2)]
    recorders = {Rank(rank): Recorder("2.10", (entry(str(rank // 2), 1),), (groups[rank // 2],)) for rank in range(4)}
    together = from_recorders(recorders)
    assert len({id(member.ring) for member in together.members.values()}) == 1
    assert [together.members[Rank(rank)].groups[0].name for rank in range(4)] == ["0", "0", "1", "1"]


def test_members_that_no_dump_names_are_those_that_used_the_group() -> None:
    recorders = {
        Rank(0): Recorder("2.10", (entry("0", 1), entry("7", 1))),
        Rank(2): Recorder("2.10", (entry("0", 1), entry("7", 1))),
        Rank(1): Recorder("2.10", (entry("0", 1),)),
    }
    together = from_recorders(recorders, 4)
    named = {group.name: group.members for member in together.members.values() for group in member.groups}
    assert named == {"0": (0, 1, 2, 3), "7": (0, 2)}
    assert together.inferred == {"7"}
    assert str(together.unseen()) == "3"


def test_a_recorder_can_be_written_out_again() -> None:
    group = Group("5", (Rank(3), Rank(8)), "pair")
    entries = (
        entry("5", 1),
        entry("5", 1, op="send", p2p=True, peer=Rank(8), state="scheduled", retired=False),
        entry("5", 2, state="scheduled", retired=False, timed_out=True),
    )
    recorder = Recorder("2.10", entries, (group,), truncated=True, newest_ns=5)
    assert expand(from_recorders({Rank(3): recorder}).members[Rank(3)]) == recorder


def test_no_recorder_makes_an_empty_set() -> None:
    together = complete({})
    assert (together.world_size, dict(together.members)) == (0, {})
