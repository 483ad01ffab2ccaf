"""Whole logs in the formats of many torch versions: the culprit, the cause and the line."""

from __future__ import annotations

import io

import pytest

from ddpdoctor.archive import fingerprints, input_files, pipeline, watchdog_log
from ddpdoctor.archive.fragment import CollectiveTimeout
from ddpdoctor.model.diagnosis import Confidence, Outcome
from ddpdoctor.model.report import Report

TORCH = "/opt/venv/lib/python3.12/site-packages/torch/distributed"
REDUCE = (("all_reduce", f"{TORCH}/distributed_c10d.py", 2935), ("validate", "/app/train.py", 88))
SEND_OUT = (("broadcast", f"{TORCH}/distributed_c10d.py", 2700), ("save", "/app/train.py", 97))


def diagnose(text: str) -> Report:
    return pipeline.diagnose(input_files.find(["-"], io.BytesIO(text.encode())))


def timeout(rank: int, seq: int, op: str, numel: int = 1) -> str:
    """A watchdog's lines as torch 2.7 to 2.10 write them."""
    work = f"WorkNCCL(SeqNum={seq}, OpType={op}, NumelIn={numel}, NumelOut={numel}, Timeout(ms)=600000)"
    group = f"[PG ID 0 PG GUID 0(default_pg) Rank {rank}]"
    return (
        f"[rank{rank}]:[E821 03:11:07.1 ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught collective operation "
        f"timeout: {work} ran for 600014 milliseconds before timing out.\n"
        f"[rank{rank}]:[E821 03:11:07.2 ProcessGroupNCCL.cpp:2271] {group}  failure detected by watchdog at work "
        f"sequence id: {seq} PG status: last enqueued work: {seq}, last completed work: {seq - 1}\n"
    )


def stack(rank: int, frames: tuple[tuple[str, str, int], ...]) -> str:
    lines = [f"#{number} {name} from {file}:{line}\n" for number, (name, file, line) in enumerate(frames)]
    first = f"[rank{rank}]:[E821 03:11:07.3 ProcessGroupNCCL.cpp:733] Stack trace of the failed collective: \n"
    return f"{first}{''.join(lines)}\n"


def dump_signal(rank: int, enqueued: int, completed: int) -> str:
    return (
        f"[rank{rank}]:[E821 03:11:08.1 ProcessGroupNCCL.cpp:1746] [PG ID 0 PG GUID 0(default_pg) Rank {rank}] "
        "Received a dump signal due to a collective timeout from  rank 1 and we will try our best to dump the debug "
        f"info. Last enqueued NCCL work: {enqueued}, last completed NCCL work: {completed}.This is most likely caused "
        "by incorrect usages of collectives.\n"
    )


def raised(rank: int, message: str, line: int = 88, function: str = "validate") -> str:
    text = (
        "Traceback (most recent call last):\n"
        f'  File "/app/train.py", line {line}, in {function}\n    dist.all_reduce(total)\n'
        f'  File "{TORCH}/distributed_c10d.py", line 2935, in all_reduce\n    work = group.allreduce([tensor], opts)\n'
        f"RuntimeError: {message}\n"
    )
    return "".join(f"[rank{rank}]: {line}\n" for line in text.splitlines())


def test_a_rank_that_only_got_the_dump_signal_tells_how_far_it_came() -> None:
    said = "".join(timeout(rank, 461, "ALLREDUCE") for rank in (0, 1, 3))
    first = diagnose(said + dump_signal(2, 460, 460)).diagnoses[0]
    assert first.culprits.members == (2,)
    assert "number 461" in first.summary
    assert first.evidence == ("rank 2: the last of the default group was number 460",)


def test_a_rank_that_got_the_dump_signal_inside_the_same_operation_is_not_to_blame() -> None:
    said = "".join(timeout(rank, 461, "ALLREDUCE") for rank in (0, 1, 3))
    report = diagnose(said + dump_signal(2, 461, 460))
    assert report.outcome is Outcome.HANG
    assert not any(diagnosis.culprits for diagnosis in report.diagnoses)


def test_a_rank_that_never_issued_anything_in_a_group_is_no_frontier() -> None:
    first = diagnose(timeout(0, 4, "ALLREDUCE") + dump_signal(1, -1, -1)).diagnoses[0]
    assert (first.confidence, first.culprit_confidence) == (Confidence.POSSIBLE, Confidence.POSSIBLE)


@pytest.mark.parametrize("lines", [1, 3])
def test_the_stack_of_a_failed_collective_is_its_place(lines: int) -> None:
    """The stack follows the first message; torch reports the same timeout again when the watchdog ends."""
    log = "".join((timeout(rank, 461, "ALLREDUCE") + stack(rank, REDUCE)) * 1 for rank in (0, 1, 3))
    log += timeout(2, 461, "BROADCAST") + stack(2, SEND_OUT)
    log += "".join(timeout(rank, 461, "ALLREDUCE") for rank in (0, 1, 3)) * (lines - 1)
    first = diagnose(log).diagnoses[0]
    assert (first.code, first.culprits.members) == ("DD213", (2,))
    places = {(place.line, place.function, place.ranks.members) for place in first.locations}
    assert places == {(97, "save", (2,)), (88, "validate", (0, 1, 3))}


def test_frames_without_a_prefix_belong_to_the_line_before_them() -> None:
    lines = (timeout(0, 8, "ALLREDUCE") + stack(0, REDUCE)).splitlines()
    said = [one.timeout for one in watchdog_log.find(tuple(lines)) if one.timed_out]
    assert [(one.site.line, one.site.function) for one in said if one.site] == [(88, "validate")]
    assert said[0] == CollectiveTimeout("all_reduce", 8, "", "", 1, 1, 600000, rank_in_group=0, site=said[0].site)


@pytest.mark.parametrize(
    "line",
    [
        "[PG 0 Rank 1] Heartbeat monitor timed out! Process will be terminated after dumping debug info. "
        "workMetaList_.size()=103",
        "[PG ID 0 PG GUID 0(default_pg) Rank 1] ProcessGroupNCCL's watchdog got stuck for 480 seconds without making "
        "progress in monitoring enqueued collectives.",
    ],
)
def test_a_watchdog_that_stands_still_is_never_healthy(line: str) -> None:
    report = diagnose(f"[rank1]:[F1 ProcessGroupNCCL.cpp:1169] {line}\n")
    assert report.outcome is Outcome.HANG
    assert not report.diagnoses[0].culprits
    assert any("watchdog of rank 1 was blocked" in note for note in report.notes)


PRINT = "TensorDtypes=Float, TensorDeviceTypes=TensorOptions(dtype=float (default), device=cuda))"


def mismatch(mine: int, op: str, size: str, other: int, their: str, others: str, seq: int = 31) -> str:
    return (
        f"Detected mismatch between collectives on ranks. Rank {mine} is running collective: CollectiveFingerPrint("
        f"SequenceNumber={seq}, OpType={op}, TensorShape=[{size}], {PRINT}, but Rank {other} is running collective: "
        f"CollectiveFingerPrint(SequenceNumber={seq}, OpType={their}, TensorShape=[{others}], {PRINT}."
    )


def test_who_raises_a_mismatch_first_is_not_to_blame_for_it() -> None:
    log = raised(0, mismatch(0, "ALLREDUCE", "20, 10", 2, "BROADCAST", "20, 10"))
    log += raised(1, mismatch(1, "ALLREDUCE", "20, 10", 2, "BROADCAST", "20, 10"))
    log += raised(2, mismatch(2, "BROADCAST", "20, 10", 0, "ALLREDUCE", "20, 10"), 97, "save")
    first = diagnose(log).diagnoses[0]
    assert (first.code, first.culprits.members) == ("DD213", (2,))
    assert {place.line for place in first.locations} == {88, 97}


def test_one_ranks_word_on_sizes_tells_both_and_blames_neither() -> None:
    first = diagnose(raised(1, mismatch(1, "ALLREDUCE", "195812480", 0, "ALLREDUCE", "51123456"))).diagnoses[0]
    assert (first.code, first.culprits.members) == ("DD214", ())
    assert "195812480" in first.summary
    assert "51123456" in first.summary


def test_a_fingerprint_of_another_round_is_not_compared() -> None:
    line = (
        "Detected mismatch between collectives on ranks. Rank 1 is running collective: CollectiveFingerPrint("
        f"SequenceNumber=101, OpType=ALLGATHER, TensorShape=[1], {PRINT}, but Rank 7 is running collective: "
        "CollectiveFingerPrint(SequenceNumber=0OpType=REDUCE)."
    )
    (report,) = fingerprints.find((line, line))
    assert report.mine == CollectiveTimeout("all_gather", 101, numel_in=1, rank_in_group=1)
    assert report.theirs is None


def test_numbers_in_a_part_of_the_job_are_not_taken_for_the_jobs() -> None:
    report = diagnose(raised(5, mismatch(1, "ALLREDUCE", "4", 0, "BROADCAST", "4")))
    assert all(0 not in diagnosis.culprits for diagnosis in report.diagnoses)
    report = diagnose(raised(5, "[Rank 0]: Ranks 1, 2 failed to pass monitoredBarrier in 10000 ms"))
    assert all(1 not in diagnosis.culprits for diagnosis in report.diagnoses)


def test_whom_a_monitored_barrier_misses_is_named_though_they_left_nothing() -> None:
    log = raised(0, "[Rank 0]: Ranks 4, 5 failed to pass monitoredBarrier in 10000 ms").replace(
        "in all_reduce", "in monitored_barrier"
    )
    report = diagnose(log + raised(1, "Connection closed by peer [127.0.0.1]:30"))
    first = report.diagnoses[0]
    assert (first.culprits.members, first.culprit_confidence) == ((4, 5), Confidence.LIKELY)
    assert first.confidence is Confidence.POSSIBLE
    assert (first.locations[0].line, "monitored_barrier" in first.summary) == (88, True)


def test_who_has_not_given_its_communicators_id_is_named() -> None:
    said = "is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store by key '0', "
    log = "".join(raised(rank, f"[{rank}] {said}but store->get('0') got error: Socket Timeout") for rank in (1, 2))
    assert diagnose(log).diagnoses[0].culprits.members == (0,)


def test_that_nobody_is_missing_is_only_said_where_the_number_of_ranks_is_known() -> None:
    same = "".join(timeout(rank, 461, "ALLREDUCE") for rank in range(3))
    alone = diagnose(same).diagnoses[0]
    assert "none is missing" not in alone.summary
    assert "a rank that left nothing may be the one that did not arrive" in alone.why
    told = "node1:9:9 [0] NCCL INFO ncclCommInitRank comm 0x5 rank 0 nranks 3 cudaDev 0 busId 4 - Init START\n"
    assert "none is missing" in diagnose(told + same).diagnoses[0].summary


def test_a_rank_that_is_only_named_is_not_waited_for_in_a_group_that_nobody_is_known_to_be_in() -> None:
    work = "WorkNCCL(SeqNum=1, OpType=COALESCED, NumelIn=0, NumelOut=0, Timeout(ms)=600000)"
    log = f"[rank7]:[E1 P.cpp:1] [Rank 3] Watchdog caught collective operation timeout: {work} ran for 600014 ms.\n"
    first = diagnose(log + dump_signal(1, 51, 51)).diagnoses[0]
    assert (first.code, first.culprits.members) == ("DD299", ())
    assert "wait for" not in first.summary
