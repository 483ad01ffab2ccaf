"""Reading pages as the supervisor does."""

from __future__ import annotations

import time
from pathlib import Path

from ddpdoctor.model.ranks import Group, Rank, Role, Worker
from ddpdoctor.observe.page_poller import PagePoller
from ddpdoctor.probe import groups
from ddpdoctor.probe import page as layout
from ddpdoctor.probe.writer import EVENT_KIND, PageWriter


def worker(pid: int, role: Role = Role.RANK) -> Worker:
    return Worker(pid=pid, started=0.0, role=role, rank=Rank(pid))


def page(run: Path, pid: int) -> PageWriter:
    facts = {"pid": pid, "started_ticks": 1, "rank": pid, "world_size": 2, "group_timeout": None}
    return PageWriter(str(run / f"{pid}.page"), facts)


def test_the_newest_movement_of_any_rank_counts(tmp_path: Path) -> None:
    first, second = page(tmp_path, 1), page(tmp_path, 2)
    pages, workers = PagePoller(tmp_path), (worker(1), worker(2))
    start = pages.pulse(workers, 0.0)
    assert start.pages == 2
    assert pages.pulse(workers, start.moved).moved == start.moved
    time.sleep(0.002)
    second.mark(layout.OPTIMIZER_STEPS, EVENT_KIND["optimizer_step"], 7, (0, 0))
    after = pages.pulse(workers, start.moved)
    assert after.moved > start.moved
    assert after.steps == 1
    first.beat()
    assert pages.pulse(workers, after.moved).moved == after.moved, "a heartbeat is no movement"


def test_the_smallest_group_timeout_is_learned_when_the_pages_know_it(tmp_path: Path) -> None:
    first, second = page(tmp_path, 1), page(tmp_path, 2)
    pages, workers = PagePoller(tmp_path), (worker(1), worker(2))
    assert pages.pulse(workers, 0.0).group_timeout is None
    first.identify(group_timeout=1800.0)
    second.identify(group_timeout=600.0)
    assert pages.pulse(workers, 0.0).group_timeout == 600.0


def test_ranks_without_a_readable_page_say_nothing(tmp_path: Path) -> None:
    (tmp_path / "1.page").write_bytes(b"damage")
    (tmp_path / "3.page").write_bytes(b"")
    page(tmp_path, 4)
    workers = (worker(1), worker(2), worker(3), worker(4, Role.CHILD))
    pulse = PagePoller(tmp_path).pulse(workers, 5.0)
    assert (pulse.moved, pulse.steps, pulse.pages) == (5.0, 0, 0)
    assert PagePoller(None).pulse(workers, 5.0).pages == 0


def test_groups_are_counted_as_far_as_a_page_has_room_for_them(tmp_path: Path) -> None:
    writer = page(tmp_path, 1)
    first = groups.declare(writer, "1", "undefined", (0, 1))
    assert PagePoller(tmp_path).groups((worker(1),)) == (frozenset({Group("1", (Rank(0), Rank(1)), "undefined")}), True)
    made = [first, *(groups.declare(writer, str(number), "d" * 4000, (0, 1)) for number in range(2, 200))]
    named = len(set(made)) - 1
    assert made[named:] == [writer.unnamed_group()] * (199 - named)
    seen, whole = PagePoller(tmp_path).groups((worker(1),))
    assert len(seen) == named > 100
    assert not whole
