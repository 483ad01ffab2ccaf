"""Logs from containers, schedulers and clipboards: lines wrapped, mixed, truncated, or without a rank."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ddpdoctor.archive import input_files, pipeline, rank_from_filename, slurm_log
from ddpdoctor.archive.log_wrappers import unwrap
from ddpdoctor.errors import InputError
from ddpdoctor.model.diagnosis import Confidence, Outcome
from ddpdoctor.model.report import Report

OWN = (
    "Traceback (most recent call last):",
    '  File "/app/train.py", line 20, in main',
    "    loss = model(batch)",
    "ValueError: bad sample",
)
LOST = (
    "Traceback (most recent call last):",
    '  File "/app/train.py", line 24, in main',
    "    dist.all_reduce(total)",
    "RuntimeError: [gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.1]:30",
)


def diagnose(text: str = "", *paths: Path) -> Report:
    given = [str(path) for path in paths] or ["-"]
    return pipeline.diagnose(input_files.find(given, io.BytesIO(text.encode())))


def mixed(wrapped: Callable[[int, str], str], bad: int = 2) -> str:
    """Four ranks' tracebacks, line by line in turn."""
    texts = [OWN if rank == bad else LOST for rank in range(4)]
    return "".join(wrapped(rank, text[number]) + "\n" for number in range(4) for rank, text in enumerate(texts))


@pytest.mark.parametrize(
    "wrapped",
    [
        pytest.param(lambda rank, line: f"trainer-{rank}-1  | {line}", id="docker compose"),
        pytest.param(lambda rank, line: f"[pod/job-worker-{rank}/main] {line}", id="kubectl --prefix"),
        pytest.param(
            lambda rank, line: f"[pod/job-worker-{rank}/main] 2024-08-16T01:45:40.183Z {line}",
            id="kubectl --prefix --timestamps",
        ),
        pytest.param(lambda rank, line: f"2024-08-16T01:45:40.183Z stderr F [rank{rank}]: {line}", id="containerd"),
        pytest.param(lambda rank, line: f"node0{rank}: {line}", id="pdsh"),
        pytest.param(lambda rank, line: f"(Worker[rank={rank}] pid=32{rank}, ip=10.1.1.9) {line}", id="Ray"),
        pytest.param(
            lambda rank, line: json.dumps({"log": f"[rank{rank}]: {line}\n", "stream": "stderr"}), id="json-file"
        ),
        pytest.param(lambda rank, line: json.dumps({"rank": rank, "message": line}), id="structured"),
    ],
)
def test_a_traceback_is_found_within_what_was_put_around_it(wrapped: Callable[[int, str], str]) -> None:
    report = diagnose(mixed(wrapped))
    first = report.diagnoses[0]
    assert (report.outcome, first.code, first.culprits.members) == (Outcome.CRASH, "DD251", (2,))
    assert "ValueError: bad sample at" in first.summary


def test_a_logs_own_words_are_no_wrapping() -> None:
    lines = ["INFO: step 1", "INFO: step 2", "loss: 3", "node1 | x", '{"a": 1}']
    assert list(unwrap(lines)) == [("", line) for line in lines]


def test_a_structured_line_with_a_whole_traceback_is_taken_apart() -> None:
    lines = [json.dumps({"level": "ERROR", "msg": "\n".join(OWN), "rank": 3})]
    assert [line for _, line in unwrap(lines)] == list(OWN)
    assert {source for source, _ in unwrap(lines)} == {"rank_3"}


def test_a_pasted_traceback_is_judged_though_nobody_says_whose_it_is() -> None:
    report = diagnose("\n".join(OWN))
    first = report.diagnoses[0]
    assert (report.outcome, first.code, first.culprit_confidence) == (Outcome.CRASH, "DD251", Confidence.POSSIBLE)
    assert "ValueError: bad sample" in first.summary
    assert any("because no line names a rank" in note for note in report.notes)


def test_of_several_nobodys_tracebacks_the_one_with_a_reason_of_its_own_counts() -> None:
    report = diagnose("\n".join((*LOST, *OWN, *LOST)))
    assert "ValueError: bad sample" in report.diagnoses[0].summary


WORKER = "[{}]:\n  time      : 2025-05-21_15:43:03\n  rank      : {} (local_rank: {})\n  exitcode  : 1 (pid: 147{})\n"


def test_an_exception_of_which_no_line_says_whose_it_is_is_told_beside_the_ends() -> None:
    summary = "".join(WORKER.format(rank, rank, rank, rank) for rank in range(4))
    report = diagnose("\n".join((*LOST, *OWN, *LOST, summary, "=" * 20)))
    assert any("raised ValueError: bad sample at /app/train.py:20" in note for note in report.notes)
    assert report.diagnoses[0].culprit_confidence is Confidence.POSSIBLE


def test_what_all_ranks_raise_at_one_line_is_not_the_first_ones_fault() -> None:
    report = diagnose("".join(f"[rank{rank}]: {line}\n" for rank in range(3) for line in OWN))
    assert report.diagnoses[0].culprits.members == (0, 1, 2)


def watchdog(rank: int, seq: int) -> str:
    """torch 1.13, without a prefix."""
    work = f"WorkNCCL(SeqNum={seq}, OpType=ALLREDUCE, Timeout(ms)=1800000)"
    return f"[E P.cpp:737] [Rank {rank}] Watchdog caught collective operation timeout: {work} ran for 1802212 ms.\n"


def test_a_nodes_log_is_no_ranks_log(tmp_path: Path) -> None:
    (tmp_path / "node_0.log").write_text("".join(watchdog(rank, 9) for rank in range(4)))
    (tmp_path / "node_1.log").write_text(
        "".join(watchdog(rank, 7 if rank == 6 else 9) for rank in range(4, 8)) + "\n".join(OWN)
    )
    report = diagnose("", tmp_path)
    assert len(report.ranks) == 8
    assert report.diagnoses[0].culprits.members == (6,)
    assert any("raised ValueError" in note for note in report.notes)


def test_local_ranks_of_two_nodes_are_different_ranks(tmp_path: Path) -> None:
    for node in (0, 1):
        said = [f"[default{rank}]:{watchdog(4 * node + rank, 7 if 4 * node + rank == 6 else 9)}" for rank in range(4)]
        (tmp_path / f"node_{node}.log").write_text("".join(said))
    report = diagnose("", tmp_path)
    assert len(report.ranks) == 8
    assert report.diagnoses[0].culprits.members == (6,)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("log-gpu17-0.out", "log-gpu17-1.out", "log-gpu23-2.out", "log-gpu23-3.out"), [0, 1, 2, 3]),
        (("rank_0.log.txt", "rank_1.log.txt"), [0, 1]),
        (("attempt_0/rank_1.log", "attempt_1/rank_1.log"), [1, 1]),
        (("8812/gpu0.err", "8812/gpu1.err"), [0, 1]),
    ],
)
def test_a_number_that_a_machine_has_is_no_rank(names: tuple[str, ...], expected: list[int]) -> None:
    ranks = rank_from_filename.ranks(names)
    assert [ranks[name] for name in names] == expected


SLURM = """slurmstepd: error: Detected 1 oom_kill event in StepId=8812.0. Some of the step tasks have been OOM Killed.
srun: error: node07: task 3: Out Of Memory
srun: Terminating StepId=8812.0
slurmstepd: error: *** STEP 8812.0 ON node06 CANCELLED AT 2024-04-23T12:18:08 ***
srun: error: node06: tasks 0-1: Terminated
srun: error: node06: task 2: Killed
"""


def test_the_task_that_ran_out_of_memory_is_the_cause_and_those_that_slurm_ended_are_not() -> None:
    report = diagnose(SLURM)
    first = report.diagnoses[0]
    assert (first.code, first.culprits.members) == ("DD251", (3,))
    assert any("Slurm on rank 3: out of memory on node07" in note for note in report.notes)
    assert [status.rank for status in report.ranks if status.state == "exited"] == [3]


def test_under_torchrun_a_task_of_srun_is_a_node_and_no_rank() -> None:
    log = SLURM + "torch/distributed/elastic/x.py:869] failed (exitcode: -9) local_rank: 1 (pid: 7) of binary: python\n"
    assert diagnose(log).diagnoses[0].culprits.members == (1,)


def test_the_time_limit_and_the_kernels_word_are_told() -> None:
    limit = "slurmstepd: error: *** STEP 8812.0 ON n1 CANCELLED AT 2024-04-23T12:18:08 DUE TO TIME LIMIT ***\n"
    kernel = "[8121.2] Memory cgroup out of memory: Killed process 14751 (python) total-vm:1kB, anon-rss:1kB\n"
    assert list(slurm_log.find((limit, kernel))) == [slurm_log.TimeLimit(), slurm_log.OomKill(14751, "python")]
    report = diagnose("".join(watchdog(rank, 9) for rank in range(2)) + limit)
    assert any("ended at its time limit" in note for note in report.notes)
    summary = "".join(WORKER.format(r, r, r, r) for r in (0, 1)).replace(": 1 (pid: 1471)", ": -9 (pid: 14751)")
    killed = diagnose(f"{kernel}{summary}====\n")
    assert any("the kernel on rank 1: out of memory" in note for note in killed.notes)


def test_where_no_rank_is_named_the_one_line_says_what_was_found() -> None:
    with pytest.raises(InputError, match="out of memory, killed 14751"):
        diagnose("Memory cgroup out of memory: Killed process 14751 (python) total-vm:1kB\n")


def test_the_end_of_a_long_compressed_log_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_files, "_MOST_TEXT", 1 << 20)
    monkeypatch.setattr(input_files, "_BEGINNING", 1 << 18)
    log = tmp_path / "job.log.gz"
    steps = "".join(f"step {number}: loss {number / 7:.6f}\n" for number in range(200_000))
    ends = "".join(f"[rank{rank}]: {watchdog(rank, 7 if rank == 2 else 9)}" for rank in range(4))
    log.write_bytes(gzip.compress(steps.encode()) + gzip.compress(ends.encode()))
    report = diagnose("", log)
    assert report.diagnoses[0].culprits.members == (2,)
    assert any("only its first and last 1 MB were read" in gap.reason for gap in report.gaps)


@pytest.mark.parametrize("size", [100, 70_000, 3_000_000])
def test_a_compressed_text_is_read_whole_where_it_is_short_enough(tmp_path: Path, size: int) -> None:
    text = "".join(f"line {number * number}\n" for number in range(size // 10)).encode()
    half = len(text) // 2
    (tmp_path / "x.gz").write_bytes(gzip.compress(text[:half]) + gzip.compress(text[half:]))
    (file,) = input_files.find([str(tmp_path / "x.gz")], io.BytesIO()).files
    assert input_files.read_content(file) == (text, "")


def test_a_small_file_that_claims_to_hold_very_much_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(input_files, "_MOST_INFLATED", 8 << 20)
    monkeypatch.setattr(input_files, "_MOST_TEXT", 2 << 20)
    monkeypatch.setattr(input_files, "_BEGINNING", 1 << 18)
    (tmp_path / "x.gz").write_bytes(gzip.compress(b"[rank0]: x\n" * 1_000_000))
    (file,) = input_files.find([str(tmp_path / "x.gz")], io.BytesIO()).files
    data, cut = input_files.read_content(file)
    assert len(data) < 4 << 20
    assert "the rest was not read" in cut
