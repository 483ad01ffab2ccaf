"""Jobs in which no rank broke the rules: the transport, the end of the program, a long write."""

from __future__ import annotations

from dataclasses import replace

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Deadlock, Outcome
from ddpdoctor.model.evidence import Evidence
from ddpdoctor.model.stacks import Site, Stacks, StackSource, Thread
from tests.unit.diagnose.builders import TORCH, At, Doing, job

AT = At()
IN_STEP = Doing([AT.next(3), AT.forward(4), AT.backward(5)])


def test_all_in_the_same_operation_and_nobody_missing() -> None:
    report = examine(job([IN_STEP, IN_STEP, IN_STEP]))
    found = report.diagnoses[0]
    assert report.deadlock is Deadlock.SUSPECTED
    # THEN no rank is to blame
    assert (found.code, found.culprits.members) == ("DD271", ())


def test_one_that_moves_or_is_not_seen_is_no_transport_stall() -> None:
    evidence = job([IN_STEP, IN_STEP, IN_STEP])
    ranks = (*evidence.ranks[:2], replace(evidence.ranks[2], recorder=None))
    codes = {d.code for d in examine(replace(evidence, ranks=ranks)).diagnoses}
    assert "DD271" not in codes
    late = Doing([AT.next(3)], blocked=False, stands=AT.line(3))
    assert "DD271" not in {d.code for d in examine(job([IN_STEP, late, IN_STEP])).diagnoses}


def ended(*frames: Site) -> Evidence:
    """Ranks 1 and 2 have ended; rank 0's main thread stands in these frames, beside a thread of the user's."""
    done = Doing([AT.all("barrier", 9)], blocked=False, exit_status=0)
    evidence = job([Doing([AT.all("barrier", 9)], blocked=False, stands=AT.line(9)), done, done])
    first = evidence.ranks[0]
    pid = first.worker.pid
    helper = Thread(pid + 1, "uploader", (Site("/usr/lib/python3.11/queue.py", 171, "get"), AT.line(33, "run")))
    stacks = Stacks(StackSource.PYSPY, (Thread(pid, "MainThread", frames), helper))
    return replace(evidence, ranks=(replace(first, stacks=stacks), *evidence.ranks[1:]))


def test_a_thread_that_keeps_its_process() -> None:
    found = examine(ended(Site("/usr/lib/python3.11/threading.py", 1590, "_shutdown"))).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD254", (0,))
    assert found.locations[0].line == 33
    assert "'uploader'" in found.summary


def test_a_process_that_multiprocessing_started_ends_below_its_start() -> None:
    started = [
        Site("/usr/lib/python3.11/multiprocessing/process.py", 322, "BaseProcess._bootstrap"),
        Site("/usr/lib/python3.11/multiprocessing/spawn.py", 135, "_main"),
        Site("<string>", 1, "<module>"),
    ]
    found = examine(ended(Site("/usr/lib/python3.11/threading.py", 1590, "_shutdown"), *started)).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD254", (0,))


def test_a_rank_that_still_runs_its_program_is_not_at_its_end() -> None:
    inside = Site("/usr/lib/python3.11/threading.py", 1116, "join"), AT.line(40, "main")
    assert "DD254" not in {d.code for d in examine(ended(*inside)).diagnoses}


def test_a_rank_that_writes() -> None:
    writer = Doing([AT.next(3)], blocked=False, stands=AT.line(8, "save"), state="R", cpu_share=0.6, moves=True)
    waiting = Doing([AT.next(3), AT.all("barrier", 9)])
    report = examine(job([writer, waiting, waiting]))
    assert report.outcome is Outcome.SLOW
    assert [d.code for d in report.diagnoses] == ["DD232"]
    # WHEN it works under another name THEN it is only slow
    other = replace(writer, stands=AT.line(8, "tokenize"))
    assert [d.code for d in examine(job([other, waiting, waiting])).diagnoses] == ["DD231"]


def test_serialization_is_known_by_its_module() -> None:
    writer = Doing(
        [AT.next(3)], blocked=False, stands=Site(f"{TORCH}/serialization.py", 900, "_x"), state="R", cpu_share=0.6
    )
    waiting = Doing([AT.next(3), AT.all("barrier", 9)])
    assert examine(job([writer, waiting, waiting])).diagnoses[0].code == "DD232"
