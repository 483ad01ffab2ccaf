"""Ranks that do not exit."""

from __future__ import annotations

from dataclasses import replace

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.evidence import Evidence, SourceFile
from ddpdoctor.model.processes import Child
from ddpdoctor.model.ranks import Role, Worker
from ddpdoctor.model.stacks import Site, Stacks, StackSource, Thread
from tests.unit.diagnose.builders import At, Doing, job

AT = At()


def ended(*frames: Site) -> Evidence:
    """Ranks 1 and 2 have ended; rank 0's main thread is in these frames, with one other thread of the user's."""
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


JOINS = Site("/usr/lib/python3.11/threading.py", 1116, "join"), AT.line(40, "main")


def test_a_rank_that_has_done_what_the_others_did_is_kept_by_its_thread() -> None:
    found = examine(ended(*JOINS)).diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD254", (0,), 40)
    assert "rank 0 waits for a thread of its own at train.py:40" in found.summary


def test_a_rank_that_may_have_something_left_to_do_is_not_at_its_end() -> None:
    evidence = ended(*JOINS)
    more = job([Doing([AT.all("barrier", 9), AT.all("all_reduce", 10)])] * 3).ranks[1].page
    ranks = (evidence.ranks[0], *(replace(one, page=more) for one in evidence.ranks[1:]))
    assert "DD254" not in {one.code for one in examine(replace(evidence, ranks=ranks)).diagnoses}


def source(text: str) -> dict[str, SourceFile]:
    return {AT.file: SourceFile(AT.file, text)}


def test_a_queue_that_nobody_reads_any_more() -> None:
    queues = "/usr/lib/python3.11/multiprocessing/queues.py"
    inside = [
        Site("/usr/lib/python3.11/threading.py", 1139, "Thread._wait_for_tstate_lock"),
        Site("/usr/lib/python3.11/threading.py", 1119, "Thread.join"),
        Site(queues, 199, "Queue._finalize_join"),
        Site("/usr/lib/python3.11/multiprocessing/util.py", 360, "_exit_function"),
    ]
    code = "import multiprocessing as mp\nimport queue\nown = queue.Queue()\nqueue = mp.Queue()\n"
    found = examine(replace(ended(*inside), code=source(code))).diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD254", (0,), 4)
    assert "multiprocessing.Queue" in found.summary
    # WHEN there are two of them THEN neither is shown
    found = examine(replace(ended(*inside), code=source(f"{code}more = mp.JoinableQueue()\n"))).diagnoses[0]
    assert (found.code, found.locations[0].file) == ("DD254", inside[0].file)


def test_a_queue_whose_thread_the_program_joins() -> None:
    inside = [
        Site("/usr/lib/python3.11/threading.py", 1119, "Thread.join"),
        Site("/usr/lib/python3.11/multiprocessing/queues.py", 199, "Queue._finalize_join"),
        Site("/usr/lib/python3.11/multiprocessing/queues.py", 149, "Queue.join_thread"),
        AT.line(40, "close"),
    ]
    found = examine(replace(ended(*inside), code=source("import multiprocessing as mp\nqueue = mp.Queue()\n")))
    first = found.diagnoses[0]
    assert (first.code, first.culprits.members, first.locations[0].line) == ("DD254", (0,), 40)


def test_a_child_that_the_process_joins_at_its_exit_is_shown() -> None:
    fork = "/usr/lib/python3.11/multiprocessing/popen_fork.py"
    exits = Site(fork, 27, "Popen.poll"), Site("/usr/lib/python3.11/multiprocessing/util.py", 357, "_exit_function")
    evidence = ended(*exits)
    get = Site("/usr/lib/python3.11/multiprocessing/queues.py", 103, "Queue.get")
    draws = Thread(7001, "MainThread", (get, Site("/job/plotter.py", 15, "draw")))
    child = Child(Worker(7001, 1.0, Role.CHILD), None, Stacks(StackSource.PYSPY, (draws,)), None)
    first = replace(evidence.ranks[0], children=(child,))
    found = examine(replace(evidence, ranks=(first, *evidence.ranks[1:]))).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD254", (0,))
    assert (found.locations[0].file, found.locations[0].line) == ("/job/plotter.py", 15)
    assert "for its child process 7001 at plotter.py:15" in found.summary
