"""Ranks by collectives: one column for equal ranks; complete rows are counted and omitted."""

from __future__ import annotations

from ddpdoctor.merge.recorder_set import from_recorders
from ddpdoctor.model.collectives import Recorder, RecorderEntry
from ddpdoctor.model.ranks import Group, Rank
from ddpdoctor.model.recorder_set import RecorderSet
from ddpdoctor.model.stacks import Site
from ddpdoctor.report import collective_matrix
from ddpdoctor.report.terminal_text import Style

STYLE = Style(unicode=False)


def entry(seq: int, op: str = "all_reduce", *, done: bool = True, line: int = 10) -> RecorderEntry:
    state = "completed" if done else "scheduled"
    return RecorderEntry(seq, op, "gloo", "0", ((4, 2),), ("Float",), 0, state, done, Site("/job/train.py", line, "f"))


def recorders(rings: dict[int, list[RecorderEntry]], world: int) -> RecorderSet:
    everyone = Group("0", tuple(Rank(rank) for rank in range(world)), "default_pg")
    return from_recorders({Rank(r): Recorder("2.10", tuple(e), (everyone,)) for r, e in rings.items()}, world)


def test_a_thousand_equal_ranks_are_one_column() -> None:
    done = [entry(n) for n in range(1, 400)]
    rings = {rank: [*done, entry(400, done=False, line=12)] for rank in range(1024) if rank != 77}
    text = collective_matrix.render(recorders({**rings, 77: done}, 1024), width=100, style=STYLE)
    assert "A  ranks 0-76,78-1023  (1023)" in text
    assert "B  rank  77  (1)" in text
    assert "... 396 before, complete" in text
    assert [line.split() for line in text.splitlines() if " 400 " in line] == [
        ["default", "400", "all_reduce", "[4x2]", "train.py:12", "in", "-"]
    ]
    assert max(map(len, text.splitlines())) <= 100


def test_another_operation_at_the_same_number_is_named_in_its_cell() -> None:
    rings = {0: [entry(1, done=False)], 1: [entry(1, "barrier", done=False, line=20)], 2: [entry(1, done=False)]}
    text = collective_matrix.render(recorders(rings, 4), width=100, style=STYLE)
    assert "in: barrier [4x2] train.py:20" in text
    assert "no dump: rank  3" in text


def test_a_ring_that_has_lost_the_beginning_says_so() -> None:
    rings = {0: [entry(n) for n in range(1, 6)], 1: [entry(n) for n in range(3, 7)]}
    text = collective_matrix.render(recorders(rings, 2), width=100, style=STYLE)
    assert "  6       all_reduce [4x2] train.py:10  -     done" in text


def test_operations_behind_an_open_one_are_queued() -> None:
    rings = {0: [entry(1, done=False), entry(2, done=False)], 1: [entry(1, done=False)]}
    text = collective_matrix.render(recorders(rings, 2), width=100, style=STYLE)
    assert [line.split()[-2:] for line in text.splitlines() if line.startswith("  default")] == [
        ["in", "in"],
        ["queued", "-"],
    ]


def test_no_dump_at_all_is_said() -> None:
    assert collective_matrix.render(recorders({}, 0), width=80, style=STYLE) == "no recorder contains an operation\n"
