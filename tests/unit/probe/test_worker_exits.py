"""The launcher is held back at the first failure until the supervisor has looked at the ranks that are left.

The launcher here waits ten minutes at most, so that what lets it go on is always what the test did.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ddpdoctor.collect.exits import read_exits

LAUNCHER = """
import os, signal, subprocess, sys, time
sys.modules["torch"] = None  # a launcher may do without; to import it takes longer than all else here
from ddpdoctor.probe import state, worker_exits

def end(number, frame):
    raise SystemExit("ended by a signal")

signal.signal(signal.SIGTERM, end)
state.run = sys.argv[1]
worker_exits.GRACE = 600.0
worker_exits.install()
code = "import sys; sys.stdin.read(); sys.exit(int(sys.argv[1]))"
ranks = [
    subprocess.Popen([sys.executable, "-c", code, status], stdin=subprocess.PIPE, env={**os.environ, "RANK": str(rank)})
    for rank, status in enumerate(sys.argv[2:])
]
for rank in ranks if "ALL_END" in os.environ else ranks[:-1]:
    print("pid", rank.pid, flush=True)
    rank.stdin.close()
    while rank.poll() is None:
        time.sleep(0.01)
    print("released", time.monotonic(), flush=True)
ranks[-1].kill()
"""


@contextmanager
def launcher(run: Path, *statuses: int, watcher: int, alone_of: int = 0) -> Iterator[subprocess.Popen[str]]:
    """A launcher whose ranks but the last end one after the other with these statuses; `alone_of` so many ranks there
    is one here, and it ends."""
    command = [sys.executable, "-c", LAUNCHER, str(run), *map(str, statuses)]
    environment = {**os.environ, "_DDPDOCTOR_WATCH_PID": str(watcher)}
    environment.pop("RANK", None)
    if alone_of:
        environment |= {"LOCAL_WORLD_SIZE": "1", "WORLD_SIZE": str(alone_of), "ALL_END": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def said(process: subprocess.Popen[str]) -> tuple[str, float]:
    assert process.stdout is not None
    word, _, number = process.stdout.readline().partition(" ")
    return word, float(number or "nan")


def recorded(run: Path, count: int) -> None:
    while len(read_exits(run)) < count:
        time.sleep(0.01)


def test_the_launcher_goes_on_as_soon_as_the_supervisor_has_looked(tmp_path: Path) -> None:
    with launcher(tmp_path, 3, 0, watcher=os.getpid()) as process:
        _, pid = said(process)
        recorded(tmp_path, 1)
        looked = time.monotonic()
        (tmp_path / f"looked.{int(pid)}").touch()
        word, released = said(process)
    assert word == "released"
    assert released >= looked
    # once released the launcher kills the last rank, whose end may be recorded as well by now
    first, *others = ((ended.pid, ended.status) for ended in read_exits(tmp_path))
    assert first == (int(pid), 3)
    assert all(status == -signal.SIGKILL for _, status in others)


def test_a_look_at_another_rank_does_not_release_the_launcher(tmp_path: Path) -> None:
    with launcher(tmp_path, 3, 0, watcher=os.getpid()) as process:
        _, pid = said(process)
        recorded(tmp_path, 1)
        (tmp_path / f"looked.{int(pid) + 1}").touch()
        time.sleep(0.2)
        looked = time.monotonic()
        (tmp_path / f"looked.{int(pid)}").touch()
        assert said(process)[1] >= looked


def test_only_the_first_failure_is_waited_for(tmp_path: Path) -> None:
    with launcher(tmp_path, 3, 4, 0, watcher=os.getpid()) as process:
        _, pid = said(process)
        (tmp_path / f"looked.{int(pid)}").touch()
        assert said(process)[0] == "released"
        assert said(process)[0] == "pid"
        assert said(process)[0] == "released"
    assert [ended.status for ended in read_exits(tmp_path)][:2] == [3, 4]


def test_the_only_rank_of_a_node_is_waited_for_if_there_are_other_nodes(tmp_path: Path) -> None:
    """The launcher may have the store in which the watchers meet."""
    with launcher(tmp_path, 3, watcher=os.getpid(), alone_of=4) as process:
        _, pid = said(process)
        recorded(tmp_path, 1)
        time.sleep(0.2)
        looked = time.monotonic()
        (tmp_path / f"looked.{int(pid)}").touch()
        assert said(process)[1] >= looked


def test_the_only_rank_of_a_job_is_not_waited_for(tmp_path: Path) -> None:
    with launcher(tmp_path, 3, watcher=os.getpid(), alone_of=1) as process:
        said(process)
        assert said(process)[0] == "released"


def test_an_exit_in_order_is_not_waited_for(tmp_path: Path) -> None:
    with launcher(tmp_path, 0, 0, watcher=os.getpid()) as process:
        said(process)
        assert said(process)[0] == "released"


def test_a_signal_ends_the_wait(tmp_path: Path) -> None:
    with launcher(tmp_path, 3, 0, watcher=os.getpid()) as process:
        said(process)
        recorded(tmp_path, 1)
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=300)
    assert "released" not in output
    assert "ended by a signal" in errors


def test_without_a_supervisor_nothing_is_waited_for(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    with launcher(tmp_path, 3, 0, watcher=ended.pid) as process:
        said(process)
        assert said(process)[0] == "released"


def test_a_launcher_that_is_told_to_end_waits_for_a_look_at_a_job_that_stands_still(tmp_path: Path) -> None:
    (tmp_path / "standing").touch()
    with launcher(tmp_path, 0, watcher=os.getpid()) as process:
        while not (tmp_path / "ending").exists():
            time.sleep(0.01)
        assert process.poll() is None
        (tmp_path / f"looked.{process.pid}").touch()
        assert process.wait(timeout=600.0) == 0


def test_a_launcher_of_a_job_that_moves_ends_it_at_once(tmp_path: Path) -> None:
    with launcher(tmp_path, 0, watcher=os.getpid()) as process:
        assert process.wait(timeout=600.0) == 0
    assert not (tmp_path / "ending").exists()
