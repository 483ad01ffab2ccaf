"""The state of each rank."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Outcome
from ddpdoctor.model.evidence import SourceFile
from ddpdoctor.model.processes import Child, ProcessState, ThreadState
from ddpdoctor.model.ranks import RankSet, Role, Worker
from ddpdoctor.model.stacks import Site, Stacks, StackSource, Thread
from tests.unit.diagnose.builders import NOW, At, Doing, job
from tests.unit.diagnose.sleeping import FILE_BATON, RECV, asleep, in_code
from tests.unit.diagnose.sleeping import SERVER as SOCKET

AT = At()
#: the kernel function in which time.sleep waits
NAP = "hrtimer_nanosleep"
LOOKS_AGAIN = "\n" * 6 + "def ready(path):\n    while not path.exists():\n        time.sleep(1.0)\n"


def test_how_a_rank_ended_is_told_by_name() -> None:
    ends = [Doing([AT.all("all_reduce", 3)], exit_status=status) for status in (-6, -34, 1)]
    report = examine(job(ends, code={AT.file: "\n\nx\n"}))
    assert [rank.label for rank in report.ranks] == ["ended by SIGABRT", "ended by signal 34", "exit status 1"]


def test_a_rank_that_is_ready_to_run_works_however_little_of_a_crowded_core_it_gets() -> None:
    waits = Doing([AT.all("barrier", 2)])
    for state, label in (("R", "working in train"), ("S", "idle in train")):
        late = Doing([], blocked=False, stands=AT.line(3, "train"), state=state, cpu_share=0.04)
        assert examine(job([waits, late], code={AT.file: "\n\nx\n"})).ranks[1].label == label


def test_a_rank_in_a_timed_sleep_of_its_own_is_slow_and_hangs_nobody() -> None:
    report = examine(asleep(wchan=NAP))
    assert report.outcome is Outcome.SLOW
    (found,) = report.diagnoses
    assert (found.code, found.culprits, found.locations[0].line) == ("DD231", RankSet.of([1]), 9)
    assert "sleeps" in found.summary
    assert report.ranks[1].state == "working"


def test_one_that_sleeps_until_a_file_appears_is_not_called_slow() -> None:
    report = examine(in_code(LOOKS_AGAIN, asleep(wchan=NAP)))
    assert report.outcome is Outcome.HANG


def test_a_library_that_sleeps_waits_for_something() -> None:
    assert examine(asleep(FILE_BATON, wchan=NAP)).outcome is Outcome.HANG


def test_any_other_sleep_in_the_kernel_is_no_timed_one() -> None:
    assert examine(asleep(wchan="futex_wait_queue")).outcome is Outcome.HANG


def test_a_rank_whose_data_worker_sleeps_for_a_fixed_time_is_slow() -> None:
    evidence = asleep(wchan="do_poll")
    seen = evidence.ranks[1]
    state = ThreadState(71, "python", "S", NAP, 1.0)
    stacks = Stacks(StackSource.PYSPY, (Thread(71, "MainThread", (AT.line(4, "load"),)),))
    child = Child(Worker(71, 1.0, Role.CHILD), ProcessState(NOW, "S", 1.0, 0, (state,)), stacks, None)
    ranks = (evidence.ranks[0], replace(seen, children=(child,)), evidence.ranks[2])
    report = examine(replace(evidence, ranks=ranks))
    assert report.outcome is Outcome.SLOW
    assert report.ranks[1].location is not None
    assert report.ranks[1].location.line == 4


SERVER = Site("/job/relay.py", 3, "main")
SERVES = Site("/job/relay.py", 8, "send")
STARTED = Site("/usr/lib/python3.11/threading.py", 1002, "_bootstrap")
KEEPS_ALIVE = "def main():\n    while True:\n        time.sleep(1)\n\n\n\ndef send():\n    visible.wait()\n"
WORKS = "def main():\n    while work():\n        time.sleep(1); send()\n\n\n\ndef send():\n    visible.wait()\n"


@pytest.mark.parametrize(
    ("source", "serves", "outcome"),
    [
        pytest.param(
            KEEPS_ALIVE, "futex_do_wait", Outcome.HANG, id="its thread waits, and its main thread for the end"
        ),
        pytest.param(KEEPS_ALIVE, NAP, Outcome.SLOW, id="its thread sleeps"),
        pytest.param(WORKS, "futex_do_wait", Outcome.SLOW, id="its main thread does more than to sleep"),
        pytest.param(KEEPS_ALIVE, None, Outcome.SLOW, id="it has no other thread"),
    ],
)
def test_a_child_whose_main_thread_only_keeps_it_alive(source: str, serves: str | None, outcome: Outcome) -> None:
    evidence = asleep(RECV, call="recvfrom", on=SOCKET, wchan="wait_woken")
    states = [ThreadState(71, "python", "S", NAP, 1.0)]
    threads = [Thread(71, "MainThread", (SERVER,))]
    if serves is not None:
        states.append(ThreadState(72, "python", "S", serves, 1.0))
        threads.append(Thread(72, "Thread-1", (SERVES, STARTED)))
    process = ProcessState(NOW, "S", 1.0, 0, tuple(states))
    child = Child(Worker(71, 1.0, Role.CHILD), process, Stacks(StackSource.PYSPY, tuple(threads)), None)
    ranks = (evidence.ranks[0], replace(evidence.ranks[1], children=(child,)), evidence.ranks[2])
    code = {SERVER.file: SourceFile(SERVER.file, source)}
    report = examine(replace(evidence, ranks=ranks, code=code))
    assert report.outcome is outcome
    assert [one.code for one in report.diagnoses[:1]] == ["DD233" if outcome is Outcome.HANG else "DD231"]


def test_what_the_main_thread_itself_writes_is_work_however_little() -> None:
    evidence = asleep(wchan="folio_wait_bit_common")
    seen = evidence.ranks[1]
    assert seen.motion is not None
    writes = replace(seen, motion=replace(seen.motion, main_io_bytes=100))
    assert examine(replace(evidence, ranks=(evidence.ranks[0], writes, evidence.ranks[2]))).outcome is Outcome.SLOW
    assert examine(evidence).outcome is Outcome.HANG


@pytest.mark.parametrize(
    ("inside", "outcome"),
    [(Site("<string>", 3, "<module>"), Outcome.SLOW), (Site("/usr/lib/python3.11/shutil.py", 9, "copy"), Outcome.HANG)],
)
def test_a_child_that_runs_what_the_command_line_gave_it(inside: Site, outcome: Outcome) -> None:
    """`python -c` sleeps in a line of the job, which has no file; a library that sleeps polls."""
    evidence = asleep(call="poll")
    state = ThreadState(71, "python", "S", "hrtimer_nanosleep", 0.1)
    stacks = Stacks(StackSource.PYSPY, (Thread(71, "MainThread", (inside, Site("<string>", 1, "<module>"))),))
    child = Child(Worker(71, 1.0, Role.CHILD), ProcessState(NOW, "S", 0.1, 0, (state,)), stacks, None)
    ranks = (evidence.ranks[0], replace(evidence.ranks[1], children=(child,)), evidence.ranks[2])
    assert examine(replace(evidence, ranks=ranks)).outcome is outcome


@pytest.mark.parametrize(("napped", "outcome"), [(True, Outcome.SLOW), (False, Outcome.HANG)])
def test_a_rank_that_has_just_woken_from_a_nap_is_no_idle_one(napped: bool, outcome: Outcome) -> None:
    """On a busy machine it waits for a processor when it is looked at, and the kernel tells nothing of its sleep."""
    evidence = asleep(call="")
    late = evidence.ranks[1]
    assert late.process is not None
    assert late.motion is not None
    woken = tuple(replace(one, state="R", wchan="") for one in late.process.threads)
    seen = replace(
        late,
        process=replace(late.process, state="R", threads=woken),
        motion=replace(late.motion, cpu_seconds=0.0, napped=napped),
    )
    report = examine(replace(evidence, ranks=(evidence.ranks[0], seen, evidence.ranks[2])))
    assert report.outcome is outcome


def test_a_rank_whose_children_come_and_go_works() -> None:
    """A compiler's short processes: on a busy machine none of them gets measurable time in a look."""
    waits, late = Doing([AT.all("barrier", 2)]), Doing([], blocked=False, stands=AT.line(3, "train"))
    evidence = job([waits, late], code={AT.file: "\n\nx\n"})
    motion = evidence.ranks[1].motion
    assert motion is not None
    compiling = replace(evidence.ranks[1], motion=replace(motion, children_changed=True))
    report = examine(replace(evidence, ranks=(evidence.ranks[0], compiling)))
    assert (report.outcome, report.ranks[1].label) == (Outcome.SLOW, "working in train")
