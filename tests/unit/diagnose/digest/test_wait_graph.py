"""What is proven, and what is never proven."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from ddpdoctor.diagnose.digest import wait_graph
from ddpdoctor.diagnose.digest.doubts import Doubt
from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence, Deadlock, Outcome
from ddpdoctor.model.evidence import Evidence, Gap, RankEvidence, Source
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.processes import ThreadState
from ddpdoctor.model.ranks import Rank
from ddpdoctor.model.stacks import Site, StackSource, Thread
from tests.unit.diagnose import stories
from tests.unit.diagnose.builders import At, Doing, c10d, job

AT = At()
WORKING = Doing([AT.all("barrier", 3)], blocked=False, stands=AT.line(5), state="R", cpu_share=1.0, moves=True)


def proven(evidence: Evidence) -> tuple[int, ...]:
    return wait_graph.build(evidence).stuck.members


def change(evidence: Evidence, rank: int, edit: Callable[[RankEvidence], RankEvidence]) -> Evidence:
    ranks = tuple(edit(seen) if seen.rank == rank else seen for seen in evidence.ranks)
    return replace(evidence, ranks=ranks)


def test_mismatch_of_entered_operations_is_proven() -> None:
    assert proven(job([Doing([AT.all("barrier", 3)]), Doing([AT.all("all_reduce", 4)])])) == (0, 1)


@pytest.mark.parametrize(("op", "stuck"), [("all_reduce", (0, 1, 2)), ("all_to_all_single", ())])
def test_tensors_of_unequal_size_in_one_operation(op: str, stuck: tuple[int, ...]) -> None:
    # GIVEN ranks 1 and 2 that expected less of the operation, have left it and wait in the next one
    waits = Doing([replace(AT.all(op, 3), elements=9)])
    left = Doing([AT.all(op, 3), AT.all("barrier", 4)])
    assert proven(job([waits, left, left])) == stuck


def test_a_size_that_is_not_known_is_no_other_one() -> None:
    # GIVEN the same, and a record of rank 0 that does not say how much it gave: a watchdog's log need not
    def unsaid(seen: RankEvidence) -> RankEvidence:
        assert seen.recorder is not None
        entries = tuple(replace(entry, input_sizes=()) for entry in seen.recorder.entries)
        return replace(seen, recorder=replace(seen.recorder, entries=entries))

    waits = Doing([replace(AT.all("all_reduce", 3), elements=9)])
    left = Doing([AT.all("all_reduce", 3), AT.all("barrier", 4)])
    assert proven(change(job([waits, left, left]), 0, unsaid)) == ()


def test_cycle_over_two_groups_is_proven() -> None:
    groups = {"a": (0, 1), "b": (0, 1)}
    one = Doing([AT.all("all_reduce", 3, group="a")])
    other = Doing([AT.all("all_reduce", 3, group="b")])
    assert proven(job([one, other], groups=groups)) == (0, 1)


def test_wait_for_a_rank_that_has_exited_is_proven() -> None:
    gone = Doing([AT.all("barrier", 3)], exit_status=0)
    waits = Doing([AT.all("barrier", 3), AT.all("new_group", 4)])
    assert proven(job([waits, waits, gone])) == (0, 1)


def test_chain_that_ends_at_an_exited_rank_is_proven() -> None:
    groups = {"pair": (0, 1)}
    gone = Doing([], exit_status=0)
    first = Doing([AT.all("barrier", 3, group="pair")])
    second = Doing([AT.all("all_reduce", 4)])
    assert proven(job([first, second, gone], groups=groups)) == (0, 1)


def test_receives_in_a_circle_are_proven() -> None:
    assert proven(job([Doing([AT.recv(3, 1)]), Doing([AT.recv(3, 0)])])) == (0, 1)


def test_receive_from_any_source_needs_all_senders_stuck() -> None:
    any_source = Doing([AT.recv(3, None)])
    stuck = [Doing([AT.recv(3, 2)]), any_source, Doing([AT.recv(3, 0)])]
    assert proven(job(stuck)) == (0, 1, 2)
    assert proven(job([WORKING, any_source, Doing([AT.recv(3, 0)])])) == ()


def test_the_same_operation_entered_by_all_is_no_deadlock_of_the_program() -> None:
    evidence = job([Doing([AT.all("all_reduce", 3)]) for _ in range(3)])
    report = examine(evidence)
    assert proven(evidence) == ()
    assert (report.outcome, report.deadlock) == (Outcome.HANG, Deadlock.SUSPECTED)
    assert report.diagnoses[0].culprits.members == ()


def test_leaf_behind_a_working_root_and_a_subgroup_behind_the_leaf() -> None:
    # GIVEN rank 1 in broadcast(src=0) and rank 2 in a barrier of {1,2} while rank 0 works
    groups = {"pair": (1, 2)}
    leaf, third = Doing([AT.broadcast(4, 0)]), Doing([AT.all("barrier", 6, group="pair")])
    busy = Doing([], blocked=False, stands=AT.line(2), state="R", cpu_share=1.0, moves=True)
    evidence = job([busy, leaf, third], groups=groups)
    report = examine(evidence)
    assert proven(evidence) == ()
    assert (report.outcome, report.deadlock) == (Outcome.SLOW, Deadlock.NO)
    assert report.diagnoses[0].code == "DD231"
    assert report.diagnoses[0].culprits.members == (0,)


def test_root_that_waits_for_a_member_that_will_not_come() -> None:
    # gloo's root stays in its broadcast until its leaf has come; the leaf is in another operation
    root, leaf = Doing([AT.broadcast(4, 0)]), Doing([AT.all("barrier", 6)])
    assert proven(job([root, leaf])) == (0, 1)


def test_outstanding_asynchronous_operations_are_no_wait() -> None:
    # GIVEN two groups used in opposite order with async_op=True, and work before the waits
    groups = {"a": (0, 1), "b": (0, 1)}
    one = [AT.all("all_reduce", 3, group="a", asynchronous=True), AT.all("all_reduce", 4, group="b", asynchronous=True)]
    work = {"blocked": False, "stands": AT.line(9), "state": "S"}
    evidence = job([Doing(one, **work), Doing(one[::-1], **work)], groups=groups)  # type: ignore[arg-type]
    assert proven(evidence) == ()
    assert wait_graph.build(evidence).waiting.members == ()


def test_a_second_thread_that_communicates_can_free_its_rank() -> None:
    evidence = stories.among(2, 1, stories.ran_out)

    def with_thread(seen: RankEvidence) -> RankEvidence:
        assert seen.page
        assert seen.process
        assert seen.stacks
        other = Thread(7, "checkpoint", (AT.line(50),))
        threads = (*seen.process.threads, ThreadState(7, "python", "S", "", 0.0))
        return replace(
            seen,
            page=replace(seen.page, communicating_threads=(seen.page.pid, 7)),
            stacks=replace(seen.stacks, threads=(*seen.stacks.threads, other)),
            process=replace(seen.process, threads=threads),
        )

    assert proven(evidence) == (0, 1)
    assert proven(change(evidence, 0, with_thread)) == ()


@pytest.mark.parametrize(
    "edit",
    [
        lambda seen: replace(seen, page=None),
        lambda seen: replace(seen, stacks=None),
        lambda seen: replace(seen, recorder=None),
        lambda seen: replace(seen, process=None),
        lambda seen: replace(seen, motion=None),
        lambda seen: replace(seen, motion=replace(seen.motion, page_moved=Observed.YES)),
        lambda seen: replace(seen, motion=replace(seen.motion, page_moved=Observed.UNKNOWN)),
        lambda seen: replace(seen, motion=replace(seen.motion, lines_moved=Observed.YES)),
        lambda seen: replace(seen, process=replace(seen.process, state="T")),
        lambda seen: replace(
            seen, process=replace(seen.process, threads=(replace(seen.process.threads[0], state="R"),))
        ),
    ],
    ids=["page", "stacks", "recorder", "process", "motion", "moved", "unknown", "lines", "stopped", "running"],
)
def test_any_doubt_about_a_rank_takes_the_proof_away(edit: Callable[[RankEvidence], RankEvidence]) -> None:
    evidence = stories.among(3, 1, stories.ran_out)
    assert proven(evidence) == (0, 1, 2)
    for rank in range(3):
        doubtful = change(evidence, rank, edit)
        report = examine(doubtful)
        assert rank not in proven(doubtful)
        if rank == 1:
            # all that is said of the others rests on this rank
            assert report.deadlock is not Deadlock.PROVEN
            assert all(diagnosis.confidence is not Confidence.CERTAIN for diagnosis in report.diagnoses)


def test_a_gap_of_a_rank_is_a_doubt() -> None:
    evidence = stories.among(3, 1, stories.ran_out)
    gap = Gap(Source.RECORDER, Rank(1), "no answer within 2 s")
    assert examine(replace(evidence, gaps=(gap,))).deadlock is Deadlock.SUSPECTED


def test_a_backward_that_computes_is_not_blocked() -> None:
    # GIVEN a backward whose first buckets are already being reduced
    evidence = stories.among(2, 1, stories.ran_out)

    def busy(seen: RankEvidence) -> RankEvidence:
        assert seen.motion
        return replace(seen, motion=replace(seen.motion, cpu_seconds=0.9))

    assert proven(change(evidence, 0, busy)) == ()


def test_a_user_frame_below_the_call_is_no_wait() -> None:
    # GIVEN a call in flight whose stack stands in Python code that pickles the object
    evidence = job([Doing([AT.all("all_gather_object", 3)]), Doing([AT.all("barrier", 4)])])

    def pickling(seen: RankEvidence) -> RankEvidence:
        assert seen.stacks
        thread = seen.stacks.threads[0]
        frames = (Site("/job/records.py", 9, "__reduce__"), c10d("_object_to_tensor"), *thread.frames)
        return replace(seen, stacks=replace(seen.stacks, threads=(replace(thread, frames=frames),)))

    assert proven(change(evidence, 0, pickling)) == ()


def test_only_gloo_is_proven() -> None:
    evidence = job([Doing([AT.all("barrier", 3)]), Doing([AT.all("all_reduce", 4)])], backend="nccl")
    assert proven(evidence) == ()


@pytest.mark.parametrize("rested", list(Observed))
def test_a_stack_that_the_rank_took_itself_proves_only_if_the_thread_has_not_run_since(rested: Observed) -> None:
    def taken_before(seen: RankEvidence) -> RankEvidence:
        assert seen.stacks is not None
        threads = tuple(replace(thread, rested=rested) for thread in seen.stacks.threads)
        return replace(seen, stacks=replace(seen.stacks, source=StackSource.PROBE, threads=threads, age=2.0))

    ring = change(job([Doing([AT.recv(3, 1)]), Doing([AT.recv(3, 0)])]), 1, taken_before)
    graph = wait_graph.build(ring)
    assert graph.stuck.members == ((0, 1) if rested is Observed.YES else ())
    assert graph.doubts == ({} if rested is Observed.YES else {1: Doubt.RAN_SINCE})
    # the wait itself is seen all the same
    assert graph.main_wait(Rank(1)) is not None
