"""Exceptions that have not ended their rank."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence
from ddpdoctor.model.evidence import Evidence, SourceFile
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.processes import Motion
from ddpdoctor.model.progress import EndedThread, Raised
from ddpdoctor.model.stacks import Site, Stacks, StackSource, Thread
from tests.unit.diagnose import stories
from tests.unit.diagnose.builders import Act, At, Doing, job, raised
from tests.unit.diagnose.verdicts import one_odd

AT = At()


STARTED = AT.all("init_process_group", 1)


POLLING = """\
def acquire(path):
    while True:
        try:
            os.open(path, os.O_CREAT | os.O_EXCL)
            return
        except FileExistsError:
            time.sleep(0.2)


acquire(lock)
dist.all_reduce(x)
"""


def test_exception_that_a_loop_waits_by() -> None:
    # GIVEN a rank that sleeps in the `except` of a loop, with the exception under way
    error = raised("FileExistsError", "lock", 50.0, AT.line(4, "acquire"))
    odd = Doing([STARTED], blocked=False, stands=AT.line(7, "acquire"), callers=(AT.line(10),), raised=None)
    evidence = job(one_odd(odd, Doing([STARTED, AT.all("all_reduce", 11)])), code={AT.file: POLLING})
    evidence = with_pending(evidence, 1, error)
    # THEN it hides no exception
    assert all(one.code != "DD253" for one in examine(evidence).diagnoses)


def with_pending(evidence: Evidence, rank: int, error: Raised) -> Evidence:
    ranks = list(evidence.ranks)
    page = ranks[rank].page
    assert page is not None
    ranks[rank] = replace(ranks[rank], page=replace(page, pending=(error,)))
    return replace(evidence, ranks=tuple(ranks))


RETRIES = """\
class School:
    def lesson(self):
        loss = self.ride()
        loss.backward()

    def complete(self):
        while True:
            try:
                return self.lesson()
            except StaleMap:
                self.open()

    def open(self):
        self.group = dist.{call}

    def run(self):
        for number in range(400):
            self.complete()
            dist.all_reduce(flat, group=self.group)
            self.optimizer.step()


School().run()
"""


@pytest.mark.parametrize(("call", "code"), [("new_group()", "DD219"), ("barrier()", "DD203")])
def test_a_loop_that_begins_anew_after_an_exception_is_not_on_its_way_out(call: str, code: str) -> None:
    # GIVEN a rank whose handler makes a call that no other makes, and begins the turn again
    def at(act: Act, *path: tuple[int, str]) -> Act:
        frames = tuple(AT.line(*place) for place in (*path, (23, "<module>")))
        return replace(act, site=frames[0], path=frames)

    done = [
        at(AT.backward(4), (4, "lesson"), (9, "complete"), (18, "run")),
        at(AT.all("all_reduce", 19), (19, "run")),
        at(AT.update(20), (20, "run")),
    ]
    alone = at(AT.all(call.removesuffix("()"), 14), (14, "open"), (11, "complete"), (18, "run"))
    error = raised("StaleMap", "map 0", 50.0, AT.line(9, "complete"))
    odd = Doing([STARTED, *done * 3, alone], callers=alone.path[1:])
    usual = Doing([STARTED, *done * 3, *done[:2]], callers=done[1].path[1:])
    evidence = with_pending(job([usual, odd, usual], code={AT.file: RETRIES.format(call=call)}), 1, error)
    found = examine(evidence).diagnoses
    assert (found[0].code, found[0].culprits.members, found[0].confidence) == (code, (1,), Confidence.LIKELY)
    assert "DD253" not in [one.code for one in found]


STILL = Motion(1.0, 0.0, 0, Observed.NO, Observed.NO)


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
    """These ranks raised, a second apart, and are in a barrier after the loop; the others are in backward."""
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


@pytest.mark.parametrize("blind", [1, 2])
def test_a_rank_without_a_page_may_have_raised_before(blind: int) -> None:
    evidence = failing(3, 2, 1)
    ranks = tuple(replace(seen, page=None) if seen.rank == blind else seen for seen in evidence.ranks)
    masked = next(one for one in examine(replace(evidence, ranks=ranks)).diagnoses if one.code == "DD253")
    assert (masked.culprits.members, masked.confidence) == ((3 - blind,), Confidence.LIKELY)


def test_a_failure_behind_the_failure_of_a_finally() -> None:
    # GIVEN a `finally:` whose own barrier failed, because the peers had gone
    first = raised("KeyError", "x", 60.0, AT.line(11))
    second = raised("RuntimeError", "Connection closed by peer", 70.0, AT.line(12))
    evidence = handling(stories.among(3, 1, stories.left_early), 1, replace(second, before=(first,)))
    found = next(one for one in examine(evidence).diagnoses if one.code == "DD253")
    assert (found.locations[0].line, found.confidence) == (11, Confidence.LIKELY)
    assert "KeyError: x" in found.traceback


def leaving(*frames: Site, time: float = 60.0) -> Evidence:
    """Rank 1 has called sys.exit("bad config") at line 11 and is in these frames; the others are in backward."""
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


POOL = """\
class Latch:
    def count_down(self):
        with self.changed:
            self.count -= 1
            self.changed.notify_all()

    def wait(self):
        with self.changed:
            while self.count > 0:
                self.changed.wait()


class Pool:
    def fly(self, bee, latch):
        self.flights[bee] = self.meadow.flight(bee)
        latch.{ends}()

    def collect(self):
        for bee in range(9):
            self.executor.submit(self.fly, bee, latch)
        latch.wait()
"""


@pytest.mark.parametrize(("ends", "code"), [("count_down", "DD253"), ("describe", "DD299")])
def test_a_task_was_to_end_the_wait_by_a_method_of_the_program(ends: str, code: str) -> None:
    waits = Site("/usr/lib/python3.11/threading.py", 327, "Condition.wait")
    usual = Doing([AT.forward(30), AT.backward(31)])
    evidence = job([usual, Doing([AT.forward(30)], blocked=False, stands=AT.line(10, "wait")), usual])
    odd = evidence.ranks[1]
    assert odd.page is not None
    assert odd.stacks is not None
    stack = Thread(odd.worker.pid, "MainThread", (waits, AT.line(10, "wait"), AT.line(21, "collect")))
    lost = EndedThread("bee_2", raised("IndexError", "out of range", 50.0, AT.line(15, "fly")), task=True)
    odd = replace(
        odd, stacks=replace(odd.stacks, threads=(stack,)), page=replace(odd.page, ended_threads=(lost,)), motion=STILL
    )
    code_of = {AT.file: SourceFile(AT.file, POOL.format(ends=ends))}
    found = examine(replace(evidence, ranks=(evidence.ranks[0], odd, evidence.ranks[2]), code=code_of)).diagnoses[0]
    assert (found.code, found.culprits.members) == (code, (1,))
