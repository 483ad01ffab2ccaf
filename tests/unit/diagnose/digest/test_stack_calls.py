"""Sends and receives of ranks without a page: who waits for whom by torch's own locals, and when that is a proof."""

from __future__ import annotations

import dataclasses

import pytest

from ddpdoctor.diagnose.digest import wait_graph
from ddpdoctor.diagnose.digest.doubts import Doubt
from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence, Deadlock
from ddpdoctor.model.evidence import Evidence, RankEvidence, SourceFile, Timing
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.processes import Motion, ProcessState, ThreadState
from ddpdoctor.model.ranks import Rank, RankSet, Role, Worker
from ddpdoctor.model.stacks import Local, Site, Stacks, StackSource, Thread

C10D = "/env/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py"
OWN = "/home/ada/ring.py"
SOURCE = "\n" * 20 + "        dist.recv(halo, src=self.left)\n"
STILL = Motion(5.0, 0.0, 0, Observed.NO, Observed.UNKNOWN)


def waiting(
    rank: int, known: tuple[Local, ...], op: str = "recv", *more: Thread, motion: Motion | None = STILL
) -> RankEvidence:
    pid = 100 + rank
    place = (Site(C10D, 2799, op), Site(OWN, 21, "Ring.from_left"), Site(OWN, 40, "<module>"))
    main = Thread(pid, "MainThread", place, locals=known)
    states = (
        ThreadState(pid, "python", "S", "futex_wait_queue", 2.0),
        ThreadState(pid + 1000, "pt_gloo_runloop", "S", "", 0.0),
    )
    return RankEvidence(
        Rank(rank),
        Worker(pid, 1.0, Role.RANK, Rank(rank), world_size=3),
        stacks=Stacks(StackSource.PYSPY_NONBLOCKING, (main, *more)),
        process=ProcessState(9.0, "S", 2.0, 0, states),
        motion=motion,
    )


def peer(rank: int, name: str = "src") -> tuple[Local, ...]:
    return (Local(0, name, rank), Local(0, "group", None))


def job(*ranks: RankEvidence, source: str = SOURCE) -> Evidence:
    return Evidence(3, ranks, Timing(0, 0, 0, 9), code={OWN: SourceFile(OWN, source)})


RING = job(*(waiting(rank, peer((rank - 1) % 3)) for rank in range(3)))


def test_a_cycle_is_proven() -> None:
    report = examine(RING)
    first = report.diagnoses[0]
    assert (report.deadlock, first.code, first.confidence) == (Deadlock.PROVEN, "DD218", Confidence.LIKELY)
    assert "rank 0 waits in recv from rank 2" in first.summary
    assert [diagnosis.code for diagnosis in report.diagnoses] == ["DD218"]


def test_a_chain_that_ends_at_a_rank_that_computes_is_none() -> None:
    busy = dataclasses.replace(waiting(2, ()), motion=Motion(5.0, 4.0, 0, Observed.YES, Observed.UNKNOWN))
    graph = wait_graph.build(job(waiting(0, peer(1)), waiting(1, peer(2)), busy))
    assert not graph.stuck
    assert graph.targets([Rank(0), Rank(1)]) == RankSet.of([1, 2])


def _with(rank: RankEvidence, **changes: object) -> Evidence:
    return job(dataclasses.replace(rank, **changes), *RING.ranks[1:])  # type: ignore[arg-type]


def _threads(*names: str) -> ProcessState:
    found = tuple(ThreadState(100 + i, name, "S", "", 0.0) for i, name in enumerate(("python", *names)))
    return ProcessState(9.0, "S", 2.0, 0, found)


def _short_look(used: float) -> Motion:
    return dataclasses.replace(STILL, seconds=0.8, cpu_seconds=used)


SENDER = Thread(900, "sender", (Site(OWN, 77, "keep_sending"),))
MONITOR = Thread(900, "tqdm", (Site("/env/lib/python3.11/site-packages/tqdm/_monitor.py", 60, "run"),))
FIRST = RING.ranks[0]


@pytest.mark.parametrize(
    ("evidence", "doubt"),
    [
        pytest.param(_with(FIRST, motion=None), Doubt.ONE_SAMPLE, id="one sample"),
        pytest.param(
            _with(FIRST, motion=dataclasses.replace(STILL, lines_moved=Observed.UNKNOWN)), Doubt.MOVED, id="unknown"
        ),
        pytest.param(_with(FIRST, motion=dataclasses.replace(STILL, io_bytes=9)), Doubt.COMPUTES, id="bytes flow"),
        # 3 ticks of the kernel's clock in 0.8 s are at least 20 ms
        pytest.param(_with(FIRST, motion=_short_look(0.03)), Doubt.COMPUTES, id="processor time"),
        pytest.param(_with(FIRST, process=_threads("pt_nccl_watchdg")), Doubt.NOT_GLOO, id="no gloo"),
        pytest.param(_with(FIRST, process=_threads("pt_gloo", "pt_nccl_watchdg")), Doubt.NOT_GLOO, id="both"),
        pytest.param(_with(FIRST, process=None), Doubt.THREAD_UNKNOWN, id="no /proc"),
        pytest.param(
            job(waiting(0, peer(2), "recv", SENDER), *RING.ranks[1:]), Doubt.FREE_THREAD, id="a thread may send"
        ),
        pytest.param(
            dataclasses.replace(RING, code={OWN: SourceFile(OWN, SOURCE + "dist.isend(x, 1)\n")}),
            Doubt.MAY_BE_SENT,
            id="sent without waiting",
        ),
        pytest.param(dataclasses.replace(RING, code={}), Doubt.MAY_BE_SENT, id="source unread"),
        pytest.param(job(waiting(0, ()), *RING.ranks[1:]), Doubt.NO_PAGE, id="no peer"),
        pytest.param(
            job(waiting(0, (Local(0, "group_src", 2),)), *RING.ranks[1:]), Doubt.NO_PAGE, id="a rank of some group"
        ),
    ],
)
def test_what_may_still_move_is_not_proven(evidence: Evidence, doubt: Doubt) -> None:
    graph = wait_graph.build(evidence)
    assert graph.doubts[Rank(0)] is doubt
    assert not graph.stuck


def test_two_ticks_of_the_clock_in_a_short_look_are_no_computation() -> None:
    # they may be 10 ms, which the threads of gloo take on a busy machine
    graph = wait_graph.build(_with(FIRST, motion=_short_look(0.02)))
    assert graph.stuck == RankSet.of(range(3))


def test_an_idle_thread_of_a_library_is_none_that_sends() -> None:
    graph = wait_graph.build(job(waiting(0, peer(2), "recv", MONITOR), *RING.ranks[1:]))
    assert graph.stuck == RankSet.of(range(3))


def test_a_number_in_the_default_group_is_a_rank() -> None:
    graph = wait_graph.build(job(waiting(0, peer(2, "group_src")), *RING.ranks[1:]))
    assert graph.targets([Rank(0)]) == RankSet.of([2])


def test_without_locals_nothing_changes() -> None:
    report = examine(job(*(waiting(rank, ()) for rank in range(3))))
    assert report.deadlock is Deadlock.SUSPECTED
    assert [diagnosis.code for diagnosis in report.diagnoses] == ["DD218"]
    assert "no rank that is seen sends" in report.diagnoses[0].summary


def test_counters_that_differ_are_compared() -> None:
    """Two ranks in a barrier of round 21, and one that stands elsewhere in round 20."""

    def at(rank: int, line: int, step: int) -> RankEvidence:
        place = (Site(C10D, 9, "barrier"), Site(OWN, line, "train"), Site(OWN, 40, "<module>"))
        main = Thread(100 + rank, "MainThread", place, locals=(Local(1, "step", step), Local(1, "i", 4)))
        stacks = Stacks(StackSource.PYSPY_NONBLOCKING, (main,))
        return dataclasses.replace(waiting(rank, ()), stacks=stacks)

    report = examine(job(at(0, 21, 20), at(1, 25, 21), at(2, 25, 21)))
    assert "`step` is 20 on rank 0 and 21 on ranks 1-2" in report.diagnoses[0].evidence
    assert not any("`i`" in fact for fact in report.diagnoses[0].evidence)
