"""The page, written by one process and read from its file."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from ddpdoctor.collect.page import decode_page, peek, read_file
from ddpdoctor.model.collectives import Kind
from ddpdoctor.model.progress import EndKind, EventKind, Page
from ddpdoctor.model.ranks import Group, Rank
from ddpdoctor.model.stacks import Site
from ddpdoctor.probe import page as layout
from ddpdoctor.probe import string_table
from ddpdoctor.probe.writer import CALL_KIND, EVENT_KIND, Operation, PageWriter, started_ticks

IDENTITY = {"pid": 7, "started_ticks": 99, "rank": 1, "world_size": 4, "torch_version": "2.13.0", "backend": "gloo"}
SITE = ("/job/train.py", 12, "main")


@pytest.fixture
def writer(tmp_path: Path) -> PageWriter:
    return PageWriter(str(tmp_path / "7.page"), dict(IDENTITY))


def seen(writer: PageWriter) -> Page:
    return decode_page(read_file(Path(writer.path)))


def all_reduce(writer: PageWriter, numel: int = 8) -> Operation:
    group = writer.text(("0", "default_pg", ((0, 4),)))
    return Operation(CALL_KIND["all"], writer.text("all_reduce"), group, numel, writer.text("float32"))


def communicate(writer: PageWriter, numel: int) -> None:
    """One call, over at once."""
    slot = writer.slot()
    writer.enter(slot, all_reduce(writer, numel), (0, 0), EVENT_KIND["call"])
    writer.leave(slot, 0)


def test_identity_is_there_from_the_start_and_may_change(writer: PageWriter) -> None:
    first = seen(writer)
    assert (first.pid, first.started_ticks, first.rank, first.world_size) == (7, 99, 1, 4)
    assert (first.torch_version, first.backend, first.recorder_socket) == ("2.13.0", "gloo", "")
    assert (first.group_timeout, first.own_packages) == (None, ())
    assert first.ending is None
    writer.identify(rank=3, group_timeout=1800.0, recorder_socket="/run/7.sock", own_packages=["mytrainer"])
    second = seen(writer)
    assert (second.rank, second.group_timeout, second.recorder_socket) == (3, 1800.0, "/run/7.sock")
    assert second.own_packages == ("mytrainer",)
    assert second.revision > first.revision


def test_counters_and_loaders(writer: PageWriter) -> None:
    site = writer.text(SITE)
    for _ in range(3):
        writer.mark(writer.loader(site) + 1, EVENT_KIND["next"], 7, (site, 0))
    writer.mark(writer.loader(site) + 2, EVENT_KIND["stop_iteration"], 7, (site, 0))
    writer.mark(layout.FORWARDS, EVENT_KIND["forward"], 7, (site, 0))
    writer.mark(layout.OPTIMIZER_STEPS, EVENT_KIND["optimizer_step"], 7, (site, 0))
    page = seen(writer)
    (loader,) = page.counters.loaders
    assert (loader.site, loader.delivered, loader.stops) == (Site(*SITE), 3, 1)
    assert (page.counters.forwards, page.counters.optimizer_steps, page.counters.backward_entered) == (1, 1, 0)
    assert [event.kind for event in page.events[:4]] == [EventKind.NEXT] * 3 + [EventKind.STOP_ITERATION]


def test_more_creation_sites_than_rows_share_the_last_one(writer: PageWriter) -> None:
    for line in range(layout.LOADER_ROWS + 10):
        site = writer.text(("/job/train.py", line, "main"))
        writer.mark(writer.loader(site) + 1, EVENT_KIND["next"], 7, (site, 0))
    assert seen(writer).counters.delivered == layout.LOADER_ROWS + 10


def test_a_call_is_in_flight_between_enter_and_leave(writer: PageWriter) -> None:
    slot, before = writer.slot(), seen(writer)
    writer.enter(slot, all_reduce(writer), (writer.text(SITE), 0))
    (call,) = seen(writer).calls
    assert (call.kind, call.op, call.numel, call.dtype) == (Kind.ALL, "all_reduce", 8, "float32")
    assert call.group == Group("0", tuple(map(Rank, range(4))), "default_pg")
    assert (call.site, call.thread) == (Site(*SITE), threading.get_native_id())
    assert (call.peer, call.root, call.tag, call.asynchronous) == (None, None, None, False)
    assert call.since >= before.moved
    writer.leave(slot, 0)
    after = seen(writer)
    assert after.calls == ()
    assert after.revision > before.revision


def test_peer_root_and_tag_zero_are_values(writer: PageWriter) -> None:
    slot = writer.slot()
    flags = layout.TAGGED | layout.ASYNCHRONOUS
    writer.enter(slot, Operation(CALL_KIND["recv"], writer.text("irecv"), peer=0, root=0, tag=0, flags=flags), (0, 0))
    (call,) = seen(writer).calls
    assert (call.kind, call.peer, call.root, call.tag, call.asynchronous) == (Kind.RECV, 0, 0, 0, True)
    assert call.site is None
    assert call.group is None


def test_a_backward_shows_beside_the_call_inside_it(writer: PageWriter) -> None:
    slot = writer.slot()
    writer.enter(slot, Operation(CALL_KIND["backward"], writer.text("backward")), (writer.text(SITE), 0))
    writer.enter(slot, all_reduce(writer), (writer.text(SITE), 0))
    assert [call.kind for call in seen(writer).calls] == [Kind.BACKWARD, Kind.ALL]


def test_calls_nested_deeper_than_the_page_holds_are_forgotten_on_the_way_back(writer: PageWriter) -> None:
    slot = writer.slot()
    for _ in range(layout.CALL_DEPTH + 3):
        writer.enter(slot, all_reduce(writer), (0, 0))
    assert len(seen(writer).calls) == layout.CALL_DEPTH
    writer.leave(slot, 0)
    assert seen(writer).calls == ()


def test_every_thread_has_its_own_row_until_it_is_gone(writer: PageWriter) -> None:
    entered, leave = threading.Barrier(3), threading.Event()

    def work() -> None:
        slot = writer.slot()
        writer.enter(slot, all_reduce(writer), (0, 0), EVENT_KIND["call"])
        entered.wait()
        leave.wait()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    entered.wait()
    native = {thread.native_id for thread in threads}
    assert {call.thread for call in seen(writer).calls} == native
    assert set(seen(writer).communicating_threads) == native
    leave.set()
    for thread in threads:
        thread.join()
    # A joined thread may live on in the kernel for an instant.
    for _ in range(1000):
        writer.reap()
        if not seen(writer).calls:
            break
    assert seen(writer).calls == ()
    assert seen(writer).communicating_threads == ()


def test_more_threads_than_rows_do_no_harm(writer: PageWriter) -> None:
    done = threading.Event()
    ready = threading.Barrier(layout.THREAD_ROWS + 11)

    def work() -> None:
        slot = writer.slot()
        writer.enter(slot, all_reduce(writer), (0, 0), EVENT_KIND["call"])
        ready.wait()
        done.wait()
        writer.leave(slot, 0)

    threads = [threading.Thread(target=work) for _ in range(layout.THREAD_ROWS + 10)]
    for thread in threads:
        thread.start()
    ready.wait()
    assert len(seen(writer).calls) == layout.THREAD_ROWS
    done.set()
    for thread in threads:
        thread.join()
    assert seen(writer).calls == ()


def test_the_ring_keeps_the_newest_and_counts_the_lost(writer: PageWriter) -> None:
    for number in range(layout.EVENT_ROWS + 100):
        communicate(writer, number)
    page = seen(writer)
    assert len(page.events) == layout.EVENT_ROWS
    assert page.events_lost == 100
    numels = [event.call.numel for event in page.events if event.call]
    assert numels == list(range(100, layout.EVENT_ROWS + 100))
    assert [event.index for event in page.events] == sorted(event.index for event in page.events)


def test_a_torn_event_is_lost_and_its_neighbours_are_not(writer: PageWriter) -> None:
    for number in range(3):
        communicate(writer, number)
    data = bytearray(Path(writer.path).read_bytes())
    data[layout.EVENTS + 3 * layout.EVENT.size - 8] ^= 0xFF
    page = decode_page(bytes(data))
    assert [event.call.numel for event in page.events if event.call] == [0, 2]
    assert page.events_lost == 1


def test_texts_are_kept_once_and_a_full_log_gives_no_name(writer: PageWriter) -> None:
    assert writer.text(SITE) == writer.text(SITE)
    assert writer.text("ä" * layout.TEXTS_SIZE) == 0
    event = writer.text('quote " and \x1b and \ud800')
    assert event > 0
    slot = writer.slot()
    writer.enter(slot, Operation(CALL_KIND["all"], event), (0, 0))
    assert seen(writer).calls[0].op == 'quote " and \x1b and \ud800'


def test_threads_write_texts_at_once_without_mixing_them(writer: PageWriter) -> None:
    names = [f"name-{number}" for number in range(300)]
    places: dict[str, int] = {}

    def work(mine: list[str]) -> None:
        for name in mine:
            places[name] = writer.text(name)

    threads = [threading.Thread(target=work, args=(names[start::4],)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    slot = writer.slot()
    for name, place in places.items():
        writer.enter(slot, Operation(CALL_KIND["all"], place), (0, 0))
        assert seen(writer).calls[0].op == name
        writer.leave(slot, 0)


def test_ending_and_pending(writer: PageWriter) -> None:
    raised = {"type": "ValueError", "message": "no", "time": 5.0, "frames": [list(SITE)], "traceback": "Traceback"}
    revision = seen(writer).revision
    writer.pending([raised])
    page = seen(writer)
    assert page.revision == revision
    (pending,) = page.pending
    assert (pending.type, pending.message, pending.time, pending.frames) == ("ValueError", "no", 5.0, (Site(*SITE),))
    writer.pending([])
    writer.ending({"kind": "exception", "time": 6.0, "raised": raised})
    page = seen(writer)
    assert page.pending == ()
    assert page.ending is not None
    assert (page.ending.kind, page.ending.time, page.ending.raised) == (EndKind.EXCEPTION, 6.0, pending)


def test_a_note_that_does_not_fit_is_refused_and_changes_nothing(writer: PageWriter) -> None:
    with pytest.raises(ValueError, match="does not fit"):
        writer.pending([{"message": "x" * layout.PENDING_SIZE}])
    assert seen(writer).pending == ()


def test_the_heartbeat_is_no_movement(writer: PageWriter) -> None:
    before = peek(Path(writer.path).read_bytes()[: layout.PEEK_BYTES])
    writer.beat()
    after = peek(Path(writer.path).read_bytes()[: layout.PEEK_BYTES])
    assert (before[0], before[2]) == (after[0], after[2])
    assert after[1] > before[1]


def test_a_fork_reads_what_its_parent_wrote_last(writer: PageWriter) -> None:
    child = os.fork()
    if child == 0:
        same = decode_page(Path(writer.path).read_bytes()).rank == 1
        os._exit(0 if same else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_page_that_cannot_be_made_raises(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        PageWriter(str(tmp_path / "none" / "7.page"), dict(IDENTITY))


def test_the_page_is_private_and_whole_from_its_first_moment(writer: PageWriter) -> None:
    file = Path(writer.path)
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.stat().st_size == layout.SIZE
    assert file.stat().st_blocks * 512 >= layout.SIZE
    assert [entry.name for entry in file.parent.iterdir()] == ["7.page"]


def test_started_ticks_is_the_kernel_s_field() -> None:
    fields = Path(f"/proc/{os.getpid()}/stat").read_text().rpartition(")")[2].split()
    assert started_ticks() == int(fields[19])


def test_members_keep_their_order() -> None:
    assert string_table.encode_members([0, 1, 2, 6, 7, 4]) == [[0, 3], [6, 2], [4, 1]]


def test_a_path_of_calls_is_kept_as_a_tree(writer: PageWriter) -> None:
    outer, inner = Site("/job/train.py", 9, "main"), Site(*SITE)
    caller = writer.frame(writer.text(("/job/train.py", 9, "main")), 0)
    path = writer.frame(writer.text(SITE), caller)
    assert writer.frame(writer.text(SITE), caller) == path
    slot = writer.slot()
    writer.mark(layout.FORWARDS, EVENT_KIND["forward"], 7, (writer.text(SITE), path))
    writer.enter(slot, all_reduce(writer), (writer.text(SITE), path), EVENT_KIND["call"])
    page = seen(writer)
    assert [event.path for event in page.events] == [(inner, outer)] * 2
    assert page.calls[0].path == (inner, outer)


def test_pages_without_paths_have_the_same_layout(writer: PageWriter) -> None:
    """The path lies in bytes that were padding, which `pack_into` fills with zeros."""
    assert (layout.EVENT.size, layout.CALL.size) == (72, 136)
    writer.mark(layout.FORWARDS, EVENT_KIND["forward"], 7, (writer.text(SITE), 0))
    assert seen(writer).events[0].path == ()


def test_a_damaged_path_is_no_path(writer: PageWriter) -> None:
    later = writer.text((writer.text(SITE), 10_000))
    writer.mark(layout.FORWARDS, EVENT_KIND["forward"], 7, (0, later))
    assert seen(writer).events[0].path == ()
