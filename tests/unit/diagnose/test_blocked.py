"""Ranks that are alive and blocked at home: a data worker, a lock, the interpreter's lock, an exception, the start."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence, Outcome
from ddpdoctor.model.evidence import Evidence, RankEvidence
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.processes import Child, Motion, ProcessState, ThreadState
from ddpdoctor.model.progress import Raised
from ddpdoctor.model.ranks import Role, Worker
from ddpdoctor.model.stacks import Site, Stacks, StackSource, Thread
from tests.unit.diagnose import stories
from tests.unit.diagnose.builders import NOW, TORCH, At, Doing, job, raised

AT = At()
LOADER = Site(f"{TORCH}/utils/data/dataloader.py", 1300, "_try_get_data")
WORKER = Site(f"{TORCH}/utils/data/_utils/worker.py", 349, "_worker_loop")
POLL = Site("/usr/lib/python3.11/selectors.py", 415, "select")
STILL = Motion(1.0, 0.0, 0, Observed.NO, Observed.NO)


def fetching(*workers: Child) -> Evidence:
    """Rank 1 waits for its loader, the others for rank 1."""
    usual = Doing([AT.next(3), AT.forward(4), AT.backward(5)])
    evidence = job([usual, Doing([AT.next(3)], blocked=False, stands=AT.line(3)), usual])
    return replace(evidence, ranks=tuple(_with(seen, workers) if seen.rank == 1 else seen for seen in evidence.ranks))


def _with(seen: RankEvidence, workers: tuple[Child, ...]) -> RankEvidence:
    main = Thread(seen.worker.pid, "MainThread", (POLL, LOADER, AT.line(3)))
    return replace(seen, stacks=Stacks(StackSource.PYSPY, (main,)), children=workers)


def worker(*frames: Site, wchan: str, motion: Motion = STILL) -> Child:
    pid = 7001
    thread = Thread(pid, "MainThread", (*frames, WORKER))
    state = ProcessState(NOW, "S", 1.0, 0, (ThreadState(pid, "python", "S", wchan, 1.0),))
    return Child(Worker(pid, 1.0, Role.CHILD), state, Stacks(StackSource.PYSPY, (thread,)), motion)


def test_a_worker_that_reads() -> None:
    found = examine(fetching(worker(AT.line(40, "__getitem__"), wchan="pipe_read"))).diagnoses[0]
    assert (found.code, found.confidence) == ("DD234", Confidence.LIKELY)
    assert found.culprits.members == (1,)
    # THEN the worker and its line are named, not only the rank
    assert "worker 7001" in found.summary
    assert found.locations[0].line == 40


def test_a_worker_in_a_lock() -> None:
    found = examine(fetching(worker(AT.line(41, "__getitem__"), wchan="futex_do_wait"))).diagnoses[0]
    assert (found.code, found.locations[0].line) == ("DD235", 41)


@pytest.mark.parametrize(
    "child",
    [
        worker(wchan="do_poll"),  # waits for its next index
        worker(AT.line(40), wchan="0", motion=Motion(1.0, 0.9, 0, Observed.UNKNOWN, Observed.YES)),  # computes
    ],
)
def test_workers_that_are_not_to_blame(child: Child) -> None:
    codes = {diagnosis.code for diagnosis in examine(fetching(child)).diagnoses}
    assert not codes & {"DD234", "DD235"}


def test_the_interpreters_lock() -> None:
    usual = Doing([AT.next(3), AT.forward(4), AT.backward(5)])
    evidence = job([usual, Doing([AT.next(3)], blocked=False, stands=AT.line(9)), usual])
    silent = [
        replace(seen, page=replace(seen.page, heartbeat=NOW - 30.0)) if seen.page and seen.rank == 1 else seen
        for seen in evidence.ranks
    ]
    found = examine(replace(evidence, ranks=tuple(silent))).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD242", (1,))
    assert "30 s" in found.summary


def masked(kind: str) -> Evidence:
    """Rank 1 is in a barrier of its `finally:` while an exception is under way."""
    evidence = stories.among(3, 1, stories.left_early)
    pending = raised(kind, "no such file", 60.0, AT.line(11))
    ranks = [
        replace(seen, page=replace(seen.page, pending=(pending,))) if seen.page and seen.rank == 1 else seen
        for seen in evidence.ranks
    ]
    return replace(evidence, ranks=tuple(ranks))


def test_an_exception_that_nobody_has_seen() -> None:
    found = examine(masked("FileNotFoundError")).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD253", (1,))
    assert found.locations[0].line == 11
    assert "FileNotFoundError: no such file" in found.traceback
    # THEN the condition that leads to the same place is not called certain beside it
    others = examine(masked("FileNotFoundError")).diagnoses[1:]
    assert all(one.confidence is not Confidence.CERTAIN for one in others)


def handling(evidence: Evidence, rank: int, failure: Raised) -> Evidence:
    ranks = [
        replace(seen, page=replace(seen.page, pending=(failure,))) if seen.page and seen.rank == rank else seen
        for seen in evidence.ranks
    ]
    return replace(evidence, ranks=tuple(ranks))


@pytest.mark.parametrize("size", [2, 3, 4])
def test_a_handler_that_does_its_work_is_not_the_cause(size: int) -> None:
    # GIVEN rank 1 in the usual backward, inside an `except` that takes another sample, and a break on the last rank
    odd = size - 1 if size > 2 else 0
    evidence = handling(stories.among(size, odd, stories.left_early), 1, raised("CorruptImage", "", 60.0, AT.line(11)))
    found = examine(evidence).diagnoses
    # THEN the break comes first, and nobody is surely to blame for the exception
    assert (found[0].code, found[0].culprits.members) == ("DD206", (odd,))
    assert all(one.confidence is Confidence.POSSIBLE for one in found if one.code == "DD253")


def test_a_program_that_runs_inside_a_handler() -> None:
    # GIVEN a fallback that trains inside an `except`: the exception is older than most of what the rank has done
    evidence = handling(stories.among(3, 1, stories.left_early), 1, raised("NoDevice", "", 2.0, AT.line(11)))
    found = next(one for one in examine(evidence).diagnoses if one.code == "DD253")
    assert found.confidence is Confidence.LIKELY


def failing(size: int, *ranks: int) -> Evidence:
    """These ranks raised, a second apart, and are in a barrier behind the loop; the others are in backward."""
    doing = [stories.left_early() if rank in ranks else stories.in_backward(4) for rank in range(size)]
    evidence = job(doing, code=stories.CODE)
    for number, rank in enumerate(ranks):
        evidence = handling(evidence, rank, raised("KeyError", f"number {number}", 60.0 + number, AT.line(11)))
    return evidence


def test_exceptions_are_told_in_the_order_of_their_times() -> None:
    # GIVEN two of three ranks that failed: the one that did as usual is the smaller side, and not to blame
    found = examine(failing(3, 2, 1)).diagnoses
    masked = next(one for one in found if one.code == "DD253")
    assert (masked.culprits.members, masked.confidence) == ((2,), Confidence.LIKELY)
    assert masked.evidence[0].startswith("rank 2 raised KeyError")
    assert masked.evidence[1] == "rank 1 raised KeyError 1.0 s later"
    assert "Rank 1 raised KeyError 1.0 s later." in masked.why


def test_a_failure_behind_the_failure_of_a_finally() -> None:
    # GIVEN a `finally:` whose own barrier failed, because the peers had gone
    first = raised("KeyError", "x", 60.0, AT.line(11))
    second = raised("RuntimeError", "Connection closed by peer", 70.0, AT.line(12))
    evidence = handling(stories.among(3, 1, stories.left_early), 1, replace(second, before=(first,)))
    found = next(one for one in examine(evidence).diagnoses if one.code == "DD253")
    assert (found.locations[0].line, found.confidence) == (11, Confidence.LIKELY)
    assert "KeyError: x" in found.traceback


def lost_in_a_handler(**others: Any) -> Evidence:
    """Rank 1 lost a peer while it handled an exception of its own; the rest ends as told."""
    first = raised("KeyError", "x", 60.0, AT.line(11))
    second = replace(raised("RuntimeError", "Connection closed by peer", 70.0, AT.line(12)), before=(first,))
    lost = Doing(stories.in_backward(4).acts, exit_status=1, raised=second)
    return job([lost if rank == 1 else Doing(stories.epoch(3), **others) for rank in range(2)], code=stories.CODE)


def test_a_failure_behind_a_lost_peer_counts_where_nobody_else_has_a_reason() -> None:
    peer = raised("RuntimeError", "Connection closed by peer", 80.0, AT.line(9))
    found = examine(lost_in_a_handler(exit_status=1, raised=peer)).diagnoses[0]
    assert (found.code, found.culprits.members, found.confidence) == ("DD251", (1,), Confidence.LIKELY)
    assert "KeyError: x" in found.summary


def test_a_handler_that_lost_its_peer_is_a_victim_of_whoever_died() -> None:
    found = examine(lost_in_a_handler(exit_status=-9)).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD251", (0,))
    assert "SIGKILL" in found.summary


def leaving(*frames: Site, time: float = 60.0) -> Evidence:
    """Rank 1 has called sys.exit("bad config") at line 11 and stands in these frames; the others are in backward."""
    gone = Doing(stories.epoch(3), blocked=False, stands=AT.line(40))
    evidence = job([stories.in_backward(4), gone, stories.in_backward(4)], code=stories.CODE)
    seen = evidence.ranks[1]
    assert seen.page is not None
    page = replace(seen.page, leaving=raised("SystemExit", "bad config", time, AT.line(11)))
    stacks = Stacks(StackSource.PYSPY, (Thread(seen.worker.pid, "MainThread", frames),))
    changed = replace(seen, page=page, stacks=stacks, motion=STILL)
    return replace(evidence, ranks=(evidence.ranks[0], changed, evidence.ranks[2]))


SHUTDOWN = Site("/usr/lib/python3.11/threading.py", 1590, "_shutdown")


BOOTSTRAP = Site("/usr/lib/python3.11/multiprocessing/process.py", 329, "_bootstrap")


@pytest.mark.parametrize("outside", [(), (BOOTSTRAP, Site("<string>", 1, "<module>"))])
def test_an_exit_that_does_not_come_to_its_end(outside: tuple[Site, ...]) -> None:
    found = examine(leaving(SHUTDOWN, *outside)).diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD253", (1,), 11)
    assert "SystemExit: bad config" in found.summary


@pytest.mark.parametrize(
    "evidence",
    [
        leaving(AT.line(40), AT.line(50, "<module>")),  # caught: the program goes on
        leaving(SHUTDOWN, time=0.5),  # caught, and much was done since
    ],
)
def test_an_exit_that_was_caught(evidence: Evidence) -> None:
    assert all(one.code != "DD253" for one in examine(evidence).diagnoses)


@pytest.mark.parametrize(
    "message",
    [
        "[gloo/transport/tcp/pair.cc:547] Connection closed by peer [127.0.0.1]:1",
        "Application timeout caused pair closure",
    ],
)
def test_a_lost_peer_is_no_cause(message: str) -> None:
    # GIVEN rank 0 has lost a peer and cannot end, because of a thread of its own, and rank 1 has ended early
    lost = Doing(
        stories.in_backward(4).acts,
        blocked=False,
        stands=AT.line(40),
        raised=raised("RuntimeError", message, 60.0, AT.line(12)),
    )
    gone = Doing(stories.epoch(3), blocked=False, exit_status=0)
    found = examine(job([lost, gone, stories.in_backward(4)], code=stories.CODE)).diagnoses
    assert (found[0].code, found[0].culprits.members) == ("DD252", (1,))
    assert all(one.confidence is Confidence.POSSIBLE for one in found if one.code == "DD253")


def test_the_end_of_an_iterator_is_no_failure() -> None:
    # GIVEN a barrier in an `except StopIteration:` THEN the exception is not taken for the cause
    assert examine(masked("StopIteration")).diagnoses[0].code == "DD206"


def test_a_rank_that_has_not_come_to_the_start() -> None:
    arriving = Doing([AT.all("init_process_group", 8)])
    evidence = job([arriving, Doing([], blocked=False, stands=AT.line(4)), arriving])
    ranks = [
        replace(seen, page=None, recorder=None) if seen.rank == 1 else replace(seen, recorder=None)
        for seen in evidence.ranks
    ]
    report = examine(replace(evidence, ranks=tuple(ranks)))
    assert report.outcome is Outcome.HANG
    assert (report.diagnoses[0].code, report.diagnoses[0].culprits.members) == ("DD261", (1,))
