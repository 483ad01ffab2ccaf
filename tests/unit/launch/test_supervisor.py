"""A signal that ends a job that stands still is held back for a look, and never for long."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ddpdoctor.launch import supervisor
from ddpdoctor.launch.supervisor import Job

COUNTER = """
import signal, sys, time
seen = []
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda number, frame: seen.append(signal.Signals(number).name))
open(sys.argv[1], "w").close()
while len(seen) < int(sys.argv[2]):
    time.sleep(0.01)
open(sys.argv[1], "w").write(" ".join(seen))
"""


@pytest.fixture(autouse=True)
def no_leftovers() -> Iterator[None]:
    yield
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def job(tmp_path: Path, signals: int) -> tuple[Job, Path]:
    told = tmp_path / "told"
    return Job((sys.executable, "-c", COUNTER, str(told), str(signals)), os.environ), told


def ready(running: Job, told: Path) -> None:
    while not told.exists():
        assert running.poll() is None
        time.sleep(0.01)


def ended(running: Job) -> None:
    while running.poll() is None:
        running.sleep(0.1)


def numbers(running: Job) -> list[int]:
    return [sent.number for sent in running.sent]


def said(told: Path) -> list[str]:
    return told.read_text().split()


def test_it_is_forwarded_when_the_look_is_over(tmp_path: Path) -> None:
    running, told = job(tmp_path, 1)
    with running:
        ready(running, told)
        running.stands_still = True
        signal.raise_signal(signal.SIGTERM)
        assert (running.held, numbers(running)) == (signal.SIGTERM, [])
        running.release()
        assert (running.held, numbers(running)) == (0, [signal.SIGTERM])
        ended(running)
    assert said(told) == ["SIGTERM"]


def test_a_second_one_goes_through_at_once_with_the_first(tmp_path: Path) -> None:
    running, told = job(tmp_path, 2)
    with running:
        ready(running, told)
        running.stands_still = True
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
        assert numbers(running) == [signal.SIGTERM, signal.SIGINT]
        ended(running)
    assert sorted(said(told)) == ["SIGINT", "SIGTERM"]


def test_the_same_signal_a_second_time_reaches_the_job_a_second_time(tmp_path: Path) -> None:
    """Of two equal signals that are pending at once a process gets one."""
    running, told = job(tmp_path, 2)
    with running:
        ready(running, told)
        running.stands_still = True
        signal.raise_signal(signal.SIGINT)
        time.sleep(2 * supervisor.SAME)
        signal.raise_signal(signal.SIGINT)
        ended(running)
    assert said(told) == ["SIGINT", "SIGINT"]


def test_the_second_is_as_much_later_than_the_first_as_it_came(tmp_path: Path) -> None:
    running, told = job(tmp_path, 2)
    with running:
        ready(running, told)
        running.stands_still = True
        signal.raise_signal(signal.SIGINT)
        came = time.monotonic()
        time.sleep(supervisor.APART + 0.3)
        signal.raise_signal(signal.SIGINT)
        later = time.monotonic() - came
        ended(running)
    first, second = running.sent
    assert second.time - first.time >= later - 0.1


def test_a_look_that_takes_too_long_holds_nothing_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "HOLD", 0.1)
    running, told = job(tmp_path, 1)
    with running:
        ready(running, told)
        running.stands_still = True
        signal.raise_signal(signal.SIGINT)
        assert running.held == signal.SIGINT
        ended(running)
        assert numbers(running) == [signal.SIGINT]
    assert said(told) == ["SIGINT"]


def test_a_job_that_ends_meanwhile_leaves_no_alarm_behind() -> None:
    with Job((sys.executable, "-c", "input()"), os.environ) as running:
        running.stands_still = True
        signal.raise_signal(signal.SIGTERM)
        assert running.held == signal.SIGTERM
        os.kill(running.pid, signal.SIGKILL)
        ended(running)
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert numbers(running) == []


def test_a_job_that_moves_gets_it_at_once(tmp_path: Path) -> None:
    running, told = job(tmp_path, 1)
    with running:
        ready(running, told)
        signal.raise_signal(signal.SIGTERM)
        assert numbers(running) == [signal.SIGTERM]
        ended(running)


def test_the_same_signal_twice_in_a_moment_is_one_event(tmp_path: Path) -> None:
    """timeout(1) signals its child and then its group."""
    running, told = job(tmp_path, 1)
    with running:
        ready(running, told)
        running.stands_still = True
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        assert (running.held, numbers(running)) == (signal.SIGTERM, [])
        running.release()
        ended(running)
    assert said(told) == ["SIGTERM"]


def test_what_was_ignored_is_ignored_in_the_job_too() -> None:
    program = (
        "import os, signal, sys\nfrom ddpdoctor.launch.supervisor import Job\n"
        "signal.signal(signal.SIGQUIT, signal.SIG_IGN)\n"
        "code = 'import signal; raise SystemExit(5 if signal.getsignal(3) is signal.SIG_IGN else 6)'\n"
        "with Job((sys.executable, '-c', code), os.environ) as job:\n"
        "    while job.poll() is None: job.sleep(0.1)\n"
        "raise SystemExit(job.poll())\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=300).returncode == 5
