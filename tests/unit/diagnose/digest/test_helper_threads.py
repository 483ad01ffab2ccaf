"""A rank whose main thread waits for a thread of its own that sleeps for a fixed time, and so goes on by itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Outcome
from ddpdoctor.model.evidence import Evidence
from ddpdoctor.model.processes import ThreadState
from ddpdoctor.model.progress import EndedThread
from ddpdoctor.model.ranks import Rank
from ddpdoctor.model.stacks import Site, Stacks, StackSource, Thread
from tests.unit.diagnose.builders import At, raised
from tests.unit.diagnose.sleeping import asleep, in_code

AT = At()
NAP = "hrtimer_nanosleep"
LIB = "/usr/lib/python3.11"
GET = (Site(f"{LIB}/threading.py", 331, "Condition.wait"), Site(f"{LIB}/queue.py", 180, "Queue.get"))
JOIN = (Site(f"{LIB}/threading.py", 1119, "Thread.join"),)
EVENT = (Site(f"{LIB}/threading.py", 331, "wait"), Site(f"{LIB}/threading.py", 629, "wait"))
LOCK = (Site(f"{LIB}/threading.py", 168, "acquire"),)
STARTED = (Site(f"{LIB}/threading.py", 982, "run"), Site(f"{LIB}/threading.py", 1045, "_bootstrap_inner"))

CODE = """\
def judge(self):
    while True:
        time.sleep(0.1)          # line 3
        self.{gives}


def score(self):

    value = self.{waits}         # line 9


def watch(self):
    time.sleep(60)               # line 13
    self.log.put(0)
"""


def waiting(inside: tuple[Site, ...], waits: str, gives: str, *others: Thread, wchan: str = NAP) -> Evidence:
    """Rank 1 waits at line 9 while its thread 71 is at line 3."""
    evidence = in_code(CODE.format(waits=waits, gives=gives), asleep(*inside, wchan="futex_do_wait"))
    seen = evidence.ranks[1]
    assert seen.process is not None
    assert seen.stacks is not None
    stacks = (*seen.stacks.threads, Thread(71, "judge", (AT.line(3, "judge"), *STARTED)), *others)
    states = (*seen.process.threads, *(ThreadState(one.os_id, "python", "S", wchan, 0.1) for one in stacks[1:]))
    changed = replace(seen, stacks=Stacks(StackSource.PYSPY, stacks), process=replace(seen.process, threads=states))
    return replace(evidence, ranks=(evidence.ranks[0], changed, evidence.ranks[2]))


@pytest.mark.parametrize(
    ("inside", "waits", "gives"),
    [
        (GET, "answers.get(timeout=0.5)", "answers.put(1)"),
        (GET, "answers.get()", "results.put_nowait(1)"),  # it is the only other thread
        (EVENT, "ready.wait()", "ready.set()"),
        (JOIN, "worker.join()", "count()"),
    ],
)
def test_a_rank_that_waits_for_its_sleeping_helper_is_slow(inside: tuple[Site, ...], waits: str, gives: str) -> None:
    report = examine(waiting(inside, waits, gives))
    assert report.outcome is Outcome.SLOW
    (found,) = report.diagnoses
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD231", (Rank(1),), 3)


@pytest.mark.parametrize(
    ("inside", "waits", "gives"),
    [
        (GET, "answers.get()", "count()"),
        (EVENT, "ready.wait()", "answers.put(1)"),
        (LOCK, "lock.acquire()", "answers.put(1)"),
    ],
)
def test_a_thread_that_gives_nothing_wakes_nobody(inside: tuple[Site, ...], waits: str, gives: str) -> None:
    assert examine(waiting(inside, waits, gives)).outcome is Outcome.HANG


def test_a_helper_that_does_not_sleep_for_a_fixed_time_may_hang_as_well() -> None:
    evidence = waiting(GET, "answers.get()", "answers.put(1)", wchan="futex_do_wait")
    assert examine(evidence).outcome is Outcome.HANG


def test_the_thread_that_gives_to_the_same_object_counts() -> None:
    monitor = Thread(72, "monitor", (AT.line(13, "watch"), *STARTED))
    assert examine(waiting(GET, "answers.get()", "answers.put(1)", monitor)).outcome is Outcome.SLOW
    assert examine(waiting(GET, "answers.get()", "results.put(1)", monitor)).outcome is Outcome.HANG


def test_a_helper_that_an_exception_has_ended_may_be_the_one_that_is_missing() -> None:
    evidence = waiting(GET, "answers.get()", "answers.put(1)")
    seen = evidence.ranks[1]
    assert seen.page is not None
    ended = EndedThread("producer", raised("KeyError", "'x'", 50.0, AT.line(4)))
    ranks = (evidence.ranks[0], replace(seen, page=replace(seen.page, ended_threads=(ended,))), evidence.ranks[2])
    assert examine(replace(evidence, ranks=ranks)).outcome is not Outcome.SLOW


@pytest.mark.parametrize(("gives", "code"), [("answers.put(1)", "DD253"), ("results.put(1)", "DD299")])
def test_a_failed_task_counts_if_it_was_to_give_what_is_waited_for(gives: str, code: str) -> None:
    evidence = waiting(GET, "answers.get()", gives)
    seen = evidence.ranks[1]
    assert seen.page is not None
    assert seen.stacks is not None
    main = replace(seen.stacks, threads=seen.stacks.threads[:1])
    failed = EndedThread("pool_0", raised("KeyError", "'x'", 50.0, AT.line(4, "judge")), task=True)
    odd = replace(seen, page=replace(seen.page, ended_threads=(failed,)), stacks=main)
    report = examine(replace(evidence, ranks=(evidence.ranks[0], odd, evidence.ranks[2])))
    assert (report.outcome, report.diagnoses[0].code) == (Outcome.HANG, code)
    assert ("a task of thread 'pool_0' of rank 1" in report.diagnoses[0].summary) == (code == "DD253")
