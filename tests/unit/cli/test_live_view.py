"""The line and the table of a running job, at every width."""

from __future__ import annotations

import pytest

from ddpdoctor.cli import live_view
from ddpdoctor.observe.pace import Head, Pace, Wait
from ddpdoctor.observe.watcher import Seen
from ddpdoctor.report.terminal_text import Screen, columns

HEADS = tuple(Head(rank, 812 if rank != 3 else 811, 813, 813, 95.0) for rank in range(8))
PACE = Pace(HEADS, ((70.0, 700), (100.0, 812)), Wait(5.0, (3,)), Wait(5.0, (3,)))
SEEN = Seen(8, 812, group=True, moved=95.0, pace=PACE)


def line(seen: Seen, width: int, *, color: bool = False, unicode: bool = True) -> str:
    return live_view.line(seen, 130.0, 100.0, Screen(width, color, unicode))


def test_the_whole_line() -> None:
    assert line(SEEN, 160) == (
        "ddpdoctor │ 8 ranks │ 812 steps │ 3.73 steps/s │ last progress 5 s ago │ rank 3 behind for 5 s"
    )
    assert line(SEEN, 160, unicode=False).startswith("ddpdoctor | 8 ranks | 812 steps")


def test_what_matters_least_is_left_out_first() -> None:
    assert line(SEEN, 60) == "ddpdoctor │ 8 ranks │ last progress 5 s ago"
    assert line(SEEN, 40) == "ddpdoctor │ last progress 5 s ago"
    assert line(SEEN, 20) == "ddpdoctor │ last pr…"


@pytest.mark.parametrize("width", range(12, 130))
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert columns(line(SEEN, width)) <= width
    for rows in (2, 3, 4, 8):
        table = live_view.table(SEEN, 130.0, 100.0, Screen(width), rows)
        assert len(table) <= rows
        assert all(columns(row) <= width for row in table)


def test_before_there_are_ranks_and_without_pages() -> None:
    assert line(Seen(0, 0, group=False), 100) == "ddpdoctor │ no rank yet after 2 min 10 s"
    assert line(Seen(4, 0, group=False), 100) == "ddpdoctor │ 4 ranks"


def test_colour_changes_no_text() -> None:
    painted = line(SEEN, 160, color=True)
    assert "\x1b[1;33mrank 3 behind for 5 s\x1b[0m" in painted
    assert Screen(160).style.clean(painted) == line(SEEN, 160)


def test_ranks_that_are_alike_share_a_row_and_those_behind_come_first() -> None:
    assert live_view.table(SEEN, 130.0, 100.0, Screen(100), 8)[1:] == [
        "ranks    steps  backwards  forwards  last progress",
        "3        811    813        813       5 s ago      ",
        "0-2,4-7  812    813        813       5 s ago      ",
    ]


def test_rows_without_room_are_counted() -> None:
    heads = tuple(Head(rank, rank, 0, 0, 95.0) for rank in range(64))
    seen = Seen(64, 63, group=True, moved=95.0, pace=Pace(heads))
    rows = live_view.table(seen, 130.0, 100.0, Screen(100), 5)
    assert len(rows) == 5
    assert [row.split("  ")[0] for row in rows[2:]] == ["0", "1", "62 more ranks"]
