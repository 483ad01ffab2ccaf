"""A page that is read again and again gives each event once."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from ddpdoctor.model.ranks import Rank
from ddpdoctor.observe import live_page
from ddpdoctor.observe.live_page import LivePage
from ddpdoctor.probe import page as layout
from ddpdoctor.probe.string_table import StringTable
from ddpdoctor.probe.writer import EVENT_KIND, Operation, PageWriter

NEXT = EVENT_KIND["next"]


@pytest.fixture
def writer(tmp_path: Path) -> PageWriter:
    return PageWriter(str(tmp_path / "1.page"), {"pid": 1, "started_ticks": 1, "rank": -1, "world_size": 2})


@pytest.fixture
def page(writer: PageWriter) -> LivePage:
    return LivePage(Path(writer.path))


def write(writer: PageWriter, number: int, place: int = 0) -> None:
    for _ in range(number):
        writer.mark(layout.OPTIMIZER_STEPS, NEXT, 7, (place, 0))


def test_every_event_is_read_once(writer: PageWriter, page: LivePage) -> None:
    numbers: list[int] = []
    for count in (3, 0, 300, 1):
        write(writer, count)
        numbers.extend(row[live_page.NUMBER] for row in page.news())
    assert numbers == list(range(1, 305))
    assert not page.lost


def test_a_ring_that_has_gone_round_is_read_from_its_oldest_row(writer: PageWriter, page: LivePage) -> None:
    write(writer, 10)
    page.news()
    write(writer, 2 * layout.EVENT_ROWS)
    numbers = [row[live_page.NUMBER] for row in page.news()]
    newest = 10 + 2 * layout.EVENT_ROWS
    assert page.lost
    assert numbers == list(range(newest - layout.EVENT_ROWS + 1, newest + 1))


def test_a_row_that_is_never_written_holds_up_the_others_for_some_readings_only(
    writer: PageWriter, page: LivePage
) -> None:
    write(writer, 2)
    next(writer._numbers)
    write(writer, 2)
    read = [row[live_page.NUMBER] for _ in range(6) for row in page.news()]
    assert read == [1, 2, 4, 5]
    assert page.lost


def test_a_row_that_is_caught_in_the_middle_is_read_when_it_is_whole(writer: PageWriter, page: LivePage) -> None:
    write(writer, 3)
    at = layout.EVENTS + 2 * layout.EVENT.size
    whole = writer._map[at : at + layout.EVENT.size]
    writer._map[at + 8 : at + layout.EVENT.size] = bytes(layout.EVENT.size - 8)
    first = [row[live_page.NUMBER] for row in page.news()]
    writer._map[at : at + layout.EVENT.size] = whole
    assert (first, [row[live_page.NUMBER] for row in page.news()]) == ([1], [2, 3])
    assert not page.lost


def test_nothing_is_lost_of_a_page_that_is_read_while_it_is_written(writer: PageWriter, page: LivePage) -> None:
    # another process: threads of one take turns, and a row is written within a turn
    count = layout.EVENT_ROWS // 2
    process = multiprocessing.get_context("fork").Process(target=write, args=(writer, count))
    process.start()
    numbers: list[int] = []
    while process.is_alive():
        numbers.extend(row[live_page.NUMBER] for row in page.news())
    numbers.extend(row[live_page.NUMBER] for row in page.news())
    assert numbers == list(range(1, count + 1))


def test_a_rank_is_known_once_the_page_knows_it(writer: PageWriter, page: LivePage) -> None:
    assert page.identity() is None
    writer.identify(rank=1)
    assert page.identity() == (Rank(1), 2)


def test_calls_in_flight_and_who_uses_which_group(writer: PageWriter, page: LivePage) -> None:
    group = writer.text(("g", "metrics", ((0, 2),)))
    slot = writer.slot()
    writer.enter(slot, Operation(1, writer.text("barrier"), group), (0, 0), live_page.CALL)
    page.news()
    calls, communicating = page.calls()
    assert [(call.op, call.group) for call in calls] == [("barrier", ("g", "metrics", (0, 1)))]
    assert communicating == (slot.thread,)
    assert page.users == {(slot.thread, "g")}


def test_texts_that_come_in_pieces_are_the_same() -> None:
    table = StringTable()
    log = b"\x03\x00\x00\x00" + b'"a"' + b"\x03\x00\x00\x00" + b'"b"'
    table.extend(log[:9])
    table.extend(log[table.end :])
    assert (table.name(1), table.name(8)) == ("a", "b")
