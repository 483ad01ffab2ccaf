"""Work distributed to processes: the results, and what remains if one of them dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import psutil
import pytest

from ddpdoctor import workers

pytestmark = pytest.mark.skipif(not workers.can_fork(), reason="this system does not fork")


def by_item(results: object) -> dict[object, object]:
    return {item: result for item, result, _ in results}  # type: ignore[attr-defined]


def test_every_item_comes_back_with_its_result() -> None:
    lengths = [[3, 3_000_000], [], [0], [7, 8, 9, 10, 11]]
    found = [(item, result) for item, result, _ in workers.each(lambda: lambda n: "x" * n, lengths, 2)]
    assert sorted(found) == sorted((n, "x" * n) for share in lengths for n in share)


def test_each_process_begins_anew_and_keeps_its_share() -> None:
    def begin() -> Callable[[int], tuple[int, int]]:
        seen: list[int] = []

        def task(item: int) -> tuple[int, int]:
            seen.append(item)
            return os.getpid(), len(seen)

        return task

    results = list(workers.each(begin, [[1, 2, 3], [4, 5]], 1))
    assert [(item, nth, number) for item, (_, nth), number in results] == [
        (1, 1, 1), (2, 2, 1), (3, 3, 1), (4, 1, 2), (5, 2, 2),
    ]  # fmt: skip
    assert len({pid for _, (pid, _), _ in results}) == 2


def test_a_free_process_takes_half_of_the_longest_remainder() -> None:
    def task(item: int) -> int:
        time.sleep(0.05)
        return item

    found = list(workers.each(lambda: task, [list(range(12)), [12]], 2))
    assert sorted(item for item, _, _ in found) == list(range(13))
    assert len({number for _, _, number in found}) > 2


def test_a_remainder_that_is_not_worth_a_process_is_not_halved() -> None:
    def task(item: int) -> int:
        time.sleep(0.02)
        return item

    found = list(workers.each(lambda: task, [list(range(12)), [12]], 2, smallest=6))
    assert len({number for _, _, number in found}) == 2


@pytest.mark.parametrize("jobs", [1, 3])
def test_an_item_whose_process_fails_or_is_killed_is_lost_alone(jobs: int) -> None:
    def task(what: str) -> str:
        if what == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if what == "raises":
            raise ValueError
        if what == "exits":
            os._exit(77)
        return what

    shares = [["a", "killed", "b", "raises", "c", "exits"], ["d", "killed"], ["e"]]
    results = workers.each(lambda: task, shares, jobs)
    lost = {
        "killed": workers.Lost(signal.SIGKILL),
        "raises": workers.Lost(0, 1),
        "exits": workers.Lost(0, 77),
    }
    assert by_item(results) == {name: name for name in "abcde"} | lost


def test_a_process_killed_from_outside_costs_one_item() -> None:
    """The out-of-memory killer ends any process at any moment, also one that is sending a long result."""

    def task(item: int) -> bytes:
        if item == 2:
            time.sleep(60)
        return b"x" * 5_000_000

    before = set(psutil.Process().children())
    results = workers.each(lambda: task, [[1, 2, 3, 4]], 1)
    first = next(results)
    (child,) = set(psutil.Process().children()) - before
    child.kill()
    rest = list(results)
    outcomes = {item: result for item, result, _ in [first, *rest]}
    assert sorted(outcomes) == [1, 2, 3, 4]
    assert [item for item, result in outcomes.items() if isinstance(result, workers.Lost)] == [2]
    assert outcomes[2] == workers.Lost(signal.SIGKILL)
    assert {number for _, _, number in rest} == {1, 2}


def test_a_begin_that_fails_loses_its_items_and_ends() -> None:
    def begin() -> Callable[[int], int]:
        raise OSError("no limits here")

    assert by_item(workers.each(begin, [[1, 2], [3]], 2)) == dict.fromkeys([1, 2, 3], workers.Lost(0, 1))


def test_a_memory_limit_loses_the_item_that_exceeds_it() -> None:
    import resource

    def begin() -> Callable[[int], int]:
        with open("/proc/self/statm", encoding="ascii") as file:
            pages = int(file.read().split()[0])
        most = pages * os.sysconf("SC_PAGESIZE") + (64 << 20)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        return lambda size: len(bytearray(size))

    found = by_item(workers.each(begin, [[10, 1 << 30, 20]], 1))
    assert found == {10: 10, 1 << 30: workers.Lost(0, 1), 20: 20}


def test_an_end_before_the_last_result_leaves_no_process() -> None:
    before = set(psutil.Process().children())
    results = workers.each(lambda: lambda n: time.sleep(60 * n), [[0], [1], [1]], 2)
    assert next(results)[:2] == (0, None)
    results.close()
    assert set(psutil.Process().children()) <= before


def test_an_interrupt_ends_all_processes_silently() -> None:
    """Ctrl-C reaches the whole process group: the parent raises KeyboardInterrupt, and no process outlives it."""
    program = (
        "import sys, time\nfrom ddpdoctor import workers\n"
        "def task(n):\n    print('at work', flush=True)\n    time.sleep(60)\n"
        "try:\n    list(workers.each(lambda: task, [[1], [2]], 2))\n"
        "except KeyboardInterrupt:\n    sys.exit(7)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as job:
        assert job.stdout is not None
        assert [job.stdout.readline() for _ in range(2)] == [b"at work\n"] * 2
        children = psutil.Process(job.pid).children()
        os.killpg(job.pid, signal.SIGINT)
        _, errors = job.communicate(timeout=300)
    assert (job.returncode, errors) == (7, b"")
    assert not any(child.is_running() and child.status() != psutil.STATUS_ZOMBIE for child in children)
