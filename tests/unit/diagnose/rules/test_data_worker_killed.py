"""Data workers that are gone, raised or not."""

from __future__ import annotations

from dataclasses import replace

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence
from ddpdoctor.model.processes import Child, ProcessState
from ddpdoctor.model.ranks import Role, Worker
from ddpdoctor.model.stacks import Site, Stacks, StackSource, Thread
from tests.unit.diagnose.builders import NOW, TORCH, At, Doing, job, raised

AT = At()
SAID = "DataLoader worker (pid 77) is killed by signal: Bus error. It is possible that ..."


def test_the_ranks_own_word() -> None:
    error = raised("RuntimeError", SAID, 50.0, AT.line(3))
    lost = raised("RuntimeError", "Connection closed by peer", 50.4, AT.line(9))
    steps = AT.step(3)
    report = examine(
        job([Doing(steps, exit_status=1, raised=lost), Doing(steps, exit_status=1, raised=error), Doing(steps[:3])])
    )
    found = report.diagnoses[0]
    assert (found.code, found.culprits.members, found.confidence) == ("DD236", (1,), Confidence.CERTAIN)
    assert all(d.confidence is not Confidence.CERTAIN for d in report.diagnoses[1:])


def test_a_connection_that_broke_while_a_batch_came() -> None:
    # GIVEN a worker that was killed while the rank read a batch from it
    read = Site("/usr/lib/python3.11/multiprocessing/connection.py", 395, "_recv")
    error = raised("ConnectionResetError", "[Errno 104] Connection reset by peer", 50.0, read)
    loader = Site(f"{TORCH}/utils/data/dataloader.py", 1200, "_try_get_data")
    fetching = replace(error, frames=(read, loader, AT.line(3)))
    elsewhere = replace(error, frames=(read, AT.line(3)))
    report = examine(job([Doing(AT.step(3)[:3]), Doing(AT.step(3), exit_status=1, raised=fetching)]))
    assert (report.diagnoses[0].code, report.diagnoses[0].confidence) == ("DD236", Confidence.LIKELY)
    assert all(d.confidence is not Confidence.CERTAIN for d in report.diagnoses)
    other = examine(job([Doing(AT.step(3)[:3]), Doing(AT.step(3), exit_status=1, raised=elsewhere)]))
    assert "DD236" not in [d.code for d in other.diagnoses]


def test_an_error_inside_the_worker_is_no_kill() -> None:
    error = raised("ValueError", "Caught ValueError in DataLoader worker process 0.", 50.0, AT.line(3))
    report = examine(job([Doing(AT.step(3)[:3]), Doing(AT.step(3), exit_status=1, raised=error)]))
    assert "DD236" not in [d.code for d in report.diagnoses]


def test_a_dead_worker_that_nobody_noticed() -> None:
    loader = Site(f"{TORCH}/utils/data/dataloader.py", 1200, "_try_get_data")
    evidence = job([Doing(AT.step(3)[:3]), Doing(AT.step(3)[:1], blocked=False, stands=AT.line(3))])
    stuck = evidence.ranks[1]
    frames = (Site("/usr/lib/python3.11/selectors.py", 415, "select"), loader, AT.line(3))
    child = Child(Worker(77, 2.0, Role.CHILD), ProcessState(NOW, "Z", 1.0, None), None, None)
    stuck = replace(
        stuck, stacks=Stacks(StackSource.PYSPY, (Thread(stuck.worker.pid, "MainThread", frames),)), children=(child,)
    )
    found = examine(replace(evidence, ranks=(evidence.ranks[0], stuck))).diagnoses[0]
    assert (found.code, found.culprits.members, found.confidence) == ("DD236", (1,), Confidence.LIKELY)
