"""Data workers that wait for a lock which was held when they were forked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.evidence import SourceFile
from ddpdoctor.model.stacks import Site
from tests.unit.diagnose.builders import At
from tests.unit.diagnose.data_workers import fetching, forked, worker

AT = At()


def test_a_worker_in_a_lock() -> None:
    found = examine(fetching(worker(AT.line(41, "__getitem__"), wchan="futex_do_wait"))).diagnoses[0]
    assert (found.code, found.locations[0].line) == ("DD235", 41)


MADE = """\
import multiprocessing
import threading


class Budget:
    def __init__(self, units):
        self.permits = {made}

    def take(self):
        self.permits.acquire()
"""


@pytest.mark.parametrize(
    ("made", "code"), [("threading.Lock()", "DD235"), ("multiprocessing.Semaphore(units)", "DD234")]
)
def test_a_fork_copies_no_lock_that_processes_share(made: str, code: str) -> None:
    evidence = fetching(worker(AT.line(10, "take"), wchan="futex_do_wait"))
    found = examine(replace(evidence, code={AT.file: SourceFile(AT.file, MADE.format(made=made))})).diagnoses[0]
    assert (found.code, found.locations[0].line) == (code, 10)


def test_a_worker_that_waits_for_its_turn_among_processes() -> None:
    waits = Site("/usr/lib/python3.11/multiprocessing/synchronize.py", 261, "Condition.wait")
    found = examine(fetching(worker(waits, AT.line(37, "scan"), wchan="futex_do_wait"))).diagnoses[0]
    assert (found.code, found.locations[0].line) == ("DD234", 37)


FORK = Site("/usr/lib/python3.11/multiprocessing/popen_fork.py", 66, "Popen._launch")
BEGIN = Site("/usr/lib/python3.11/multiprocessing/process.py", 314, "BaseProcess._bootstrap")


def test_a_worker_that_has_not_come_out_of_its_fork() -> None:
    found = examine(fetching(forked(FORK, AT.line(3), wchan="futex_do_wait"))).diagnoses[0]
    assert (found.code, found.locations[0].line) == ("DD235", 3)
    assert "has not come out of its fork" in found.summary


def test_what_runs_at_each_fork_is_where_the_worker_waits() -> None:
    found = examine(fetching(forked(AT.line(17, "renew"), FORK, AT.line(3), wchan="futex_do_wait"))).diagnoses[0]
    assert (found.code, found.locations[0].line) == ("DD235", 17)


@pytest.mark.parametrize(
    ("frames", "wchan"),
    [
        pytest.param((BEGIN, FORK), "futex_do_wait", id="it runs"),
        pytest.param((FORK,), "pipe_read", id="it waits for no lock"),
    ],
)
def test_a_child_that_shows_no_lock_of_a_fork(frames: tuple[Site, ...], wchan: str) -> None:
    found = examine(fetching(forked(*frames, AT.line(3), wchan=wchan))).diagnoses[0]
    assert found.code not in ("DD234", "DD235")
