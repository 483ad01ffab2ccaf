"""From files to the verdict: the culprit, the confidence, and the source of the rank numbers."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pytest

from ddpdoctor.archive import input_files, pipeline
from ddpdoctor.errors import InputError
from ddpdoctor.model.diagnosis import Confidence, Outcome
from ddpdoctor.model.report import Report

DATA = Path(__file__).parent / "data"
CALL = "ran for 600061 milliseconds before timing out."


def diagnose(*paths: Path | str, stdin: bytes = b"") -> Report:
    return pipeline.diagnose(input_files.find([str(path) for path in paths], io.BytesIO(stdin)))


def watchdog(rank: int, seq: int, op: str, numel: int, *, enqueued: int | None = None) -> str:
    work = f"WorkNCCL(SeqNum={seq}, OpType={op}, NumelIn={numel}, NumelOut={numel}, Timeout(ms)=600000)"
    return (
        f"[rank{rank}]:[E1 P.cpp:1] [Rank {rank}] Watchdog caught collective operation timeout: {work} {CALL}\n"
        f"[rank{rank}]:[E1 P.cpp:2] [PG ID 0 PG GUID 0(default_pg) Rank {rank}] Exception (either an error or timeout) "
        f"detected by watchdog at work: {seq}, last enqueued NCCL work: {enqueued or seq}, last completed NCCL work: "
        f"{seq - 1}.\n"
    )


def never_sure(report: Report) -> bool:
    return all(Confidence.CERTAIN not in (d.confidence, d.culprit_confidence) for d in report.diagnoses)


def test_a_real_gloo_timeout_is_the_hang_before_it_and_not_the_crash_after(tmp_path: Path) -> None:
    report = diagnose(DATA / "gloo_timeout.log")
    assert report.outcome is Outcome.HANG
    assert report.diagnoses[0].culprits.members == (1,)
    assert report.diagnoses[0].waiting.members == (0, 2)
    assert any("a wait timed out" in note for note in report.notes)
    assert never_sure(report)


def test_stacks_beside_the_log_say_where_the_culprit_stands() -> None:
    report = diagnose(DATA / "gloo_timeout.log", DATA / "pyspy.txt")
    first = report.diagnoses[0]
    assert first.culprits.members == (1,)
    assert (first.locations[0].file, first.locations[0].line) == ("train.py", 11)
    assert any(note.startswith("rank numbers come from the content of the files (ranks 0-2)") for note in report.notes)


def test_stacks_alone_are_numbered_by_process_and_the_report_says_so() -> None:
    report = diagnose(DATA / "pyspy.txt")
    assert report.diagnoses[0].culprits.members == (1,)
    assert any("the order of process ids" in note for note in report.notes)


def test_a_pasted_log_on_standard_input() -> None:
    pasted = diagnose("-", stdin=(DATA / "gloo_timeout.log").read_bytes())
    assert pasted.diagnoses == diagnose(DATA / "gloo_timeout.log").diagnoses


def test_names_of_files_give_ranks_where_the_content_does_not(tmp_path: Path) -> None:
    dumps = (DATA / "pyspy.txt").read_text().split("Process ")[1:]
    for rank, dump in zip((2, 0, 1), dumps, strict=True):
        (tmp_path / f"rank_{rank}.txt").write_text(f"Process {dump}")
    report = diagnose(tmp_path)
    assert report.diagnoses[0].culprits.members == (0,)
    assert any("file names (ranks 0-2)" in note for note in report.notes)


def test_the_content_is_believed_before_the_name(tmp_path: Path) -> None:
    (tmp_path / "rank_5.log").write_text(watchdog(0, 8, "ALLREDUCE", 10))
    (tmp_path / "rank_6.log").write_text(watchdog(1, 8, "ALLREDUCE", 10))
    report = diagnose(tmp_path)
    assert [status.rank for status in report.ranks if status.state == "waiting"] == [0, 1]


def test_a_rank_that_is_behind_the_others_timeout_is_named() -> None:
    ahead = "".join(watchdog(rank, 8, "ALLREDUCE", 4096) for rank in (0, 1, 3))
    behind = watchdog(2, 7, "ALLREDUCE", 1).splitlines()[1].replace("at work: 7", "at work: 7")
    report = diagnose("-", stdin=(ahead + behind).encode())
    assert report.outcome is Outcome.HANG
    assert report.diagnoses[0].culprits.members == (2,)
    assert never_sure(report)


def test_ranks_in_one_operation_name_nobody() -> None:
    said = "".join(watchdog(rank, 8, "ALLREDUCE", 4096) for rank in range(4))
    report = diagnose("-", stdin=said.encode())
    assert report.outcome is Outcome.HANG
    assert not report.diagnoses[0].culprits
    assert never_sure(report)


def test_who_has_not_come_to_the_store_is_named_only_if_all_others_say_so() -> None:
    line = "Waiting in store based barrier to initialize process group for rank: {}, key: store_based_barrier_key:1 "
    counts = "(world_size=4, worker_count=3, timeout=0:30:00)\n"
    three = "".join(line.format(rank) + counts for rank in (0, 1, 3))
    report = diagnose("-", stdin=three.encode())
    assert (report.diagnoses[0].code, report.diagnoses[0].culprits.members) == ("DD261", (2,))
    one = diagnose("-", stdin=(line.format(0) + counts).encode())
    assert all(diagnosis.code != "DD261" for diagnosis in one.diagnoses)


def test_more_processes_than_ranks_at_the_store_are_told() -> None:
    line = "Waiting in store based barrier to initialize process group for rank: 0, key: store_based_barrier_key:1 "
    report = diagnose("-", stdin=f"{line}(world_size=4, worker_count=8, timeout=0:30:00)".encode())
    assert any(note.startswith("8 processes joined") for note in report.notes)


def test_a_death_with_its_own_reason_is_the_cause_and_lost_peers_are_not() -> None:
    log = """[rank2]: Traceback (most recent call last):
[rank2]:   File "/home/u/train.py", line 7, in main
[rank2]:     loss = model(batch)
[rank2]: ValueError: bad sample
[rank0]: Traceback (most recent call last):
[rank0]:   File "/home/u/train.py", line 9, in main
[rank0]:     dist.all_reduce(loss)
[rank0]: RuntimeError: Connection closed by peer [127.0.1.1]:2312
"""
    report = diagnose("-", stdin=log.encode())
    assert report.outcome is Outcome.CRASH
    first = report.diagnoses[0]
    assert (first.code, first.culprits.members, first.confidence) == ("DD251", (2,), Confidence.LIKELY)
    assert "bad sample" in first.traceback


def test_a_traceback_without_a_rank_is_the_one_failed_workers() -> None:
    log = """Traceback (most recent call last):
  File "/home/u/train.py", line 7, in main
    loss = model(batch)
ValueError: bad sample
  time      : 2025-05-21_15:43:03
  host      : node1
  rank      : 5 (local_rank: 1)
  exitcode  : 1 (pid: 2630)
============================
"""
    report = diagnose("-", stdin=log.encode())
    assert (report.diagnoses[0].code, report.diagnoses[0].culprits.members) == ("DD251", (5,))
    assert "ValueError" in report.diagnoses[0].summary


def test_a_compressed_log_is_read_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "job.log.gz").write_bytes(gzip.compress((DATA / "gloo_timeout.log").read_bytes()))
    assert diagnose(tmp_path).diagnoses[0].culprits.members == (1,)


def test_a_file_that_swells_is_read_as_far_as_its_bound(tmp_path: Path) -> None:
    bomb = gzip.compress(gzip.compress(b"a" * (1 << 20)) * 200)
    (tmp_path / "bomb.gz").write_bytes(bomb)
    with pytest.raises(InputError):
        diagnose(tmp_path)


def test_unknown_files_are_one_gap_and_no_error(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_bytes((DATA / "gloo_timeout.log").read_bytes())
    for number in range(5):
        (tmp_path / f"model{number}.bin").write_bytes(bytes(range(256)) * 8)
    gaps = [gap for gap in diagnose(tmp_path).gaps if "not supported" in gap.reason]
    assert [gap.reason for gap in gaps] == ["format not supported: model0.bin, model1.bin, model2.bin and 2 more"]


def test_a_silent_log_beside_telling_ones_is_a_silent_rank(tmp_path: Path) -> None:
    for rank in range(3):
        folder = tmp_path / "run_812" / "attempt_0" / str(rank)
        folder.mkdir(parents=True)
        said = watchdog(rank, 8, "ALLREDUCE", 10) if rank != 1 else ""
        (folder / "stderr.log").write_text(said)
    report = diagnose(tmp_path)
    assert report.diagnoses[0].culprits.members == (1,)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "nothing relevant to a hang"),
        (b"step 1 loss 3\n" * 100, "nothing relevant to a hang"),
        (b"\x00\x01\x02" * 100, "format not supported"),
        (b'[{"frames": 3, "thread_name": "x", "os_thread_id": 4}]', "damaged py-spy dump (JSON)"),
        (b"ddpdpage" + b"\x00" * 100, "damaged page of a rank"),
    ],
)
def test_nothing_to_go_by_is_one_line(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(InputError) as raised:
        diagnose(tmp_path)
    assert reason in raised.value.message
    assert "\n" not in raised.value.message


def test_nothing_at_all_and_no_such_path(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file"):
        diagnose(tmp_path)
    with pytest.raises(InputError, match="no such file"):
        diagnose(tmp_path / "x")


def test_torchruns_error_file(tmp_path: Path) -> None:
    callstack = 'Traceback (most recent call last):\n  File "/home/u/train.py", line 7, in main\nValueError: bad\n'
    message = {"message": "ValueError: bad", "extraInfo": {"py_callstack": callstack, "timestamp": "1700000000"}}
    for rank in range(2):
        folder = tmp_path / "attempt_0" / str(rank)
        folder.mkdir(parents=True)
        (folder / "stderr.log").write_text("")
    (tmp_path / "attempt_0" / "0" / "error.json").write_text("{}")
    (tmp_path / "attempt_0" / "1" / "error.json").write_text(json.dumps({"message": message}))
    report = diagnose(tmp_path)
    assert report.outcome is Outcome.CRASH
    assert report.diagnoses[0].culprits.members == (1,)


def test_our_own_report_is_no_evidence(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text('{"schema": "ddpdoctor.report/1", "stderr": "[rank0]: x"}')
    with pytest.raises(InputError):
        diagnose(tmp_path)


def test_a_fifo_in_the_folder_does_not_block(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "job.log").write_bytes((DATA / "gloo_timeout.log").read_bytes())
    assert diagnose(tmp_path).outcome is Outcome.HANG


def test_sizes_that_differ_in_gloo_are_said_to_and_not_only_the_death() -> None:
    log = """terminate called after throwing an instance of 'gloo::EnforceNotMet'
  what():  [enforce fail at /x/gloo/transport/tcp/pair.cc:456] op.preamble.length <= op.nbytes. 408 vs 4. Received data
[0]:
  time      : 2026-11-21_09:04:09
  host      : localhost
  rank      : 3 (local_rank: 3)
  exitcode  : -6 (pid: 22655)  (SIGABRT)
============================
"""
    first = diagnose("-", stdin=log.encode()).diagnoses[0]
    assert (first.code, first.culprits.members, first.confidence) == ("DD251", (3,), Confidence.POSSIBLE)
    assert "408 bytes arrived where it expected 4" in first.summary


def test_source_is_shown_where_the_stack_leads_and_only_if_it_fits(tmp_path: Path) -> None:
    code = "import torch.distributed as dist\n\n\ndef main():\n    dist.barrier()\n\n\nmain()\n"
    dump = (
        'Process {pid}: python -u {script}\nThread {pid} (idle): "MainThread"\n'
        "    barrier (torch/distributed/distributed_c10d.py:10)\n"
        "    main (train.py:{line})\n"
        "    <module> (train.py:8)\n"
    )
    (tmp_path / "train.py").write_text(code)
    stacks = tmp_path / "stacks"
    stacks.mkdir()
    for rank in range(2):
        text = dump.format(pid=800 + rank, script=tmp_path / "train.py", line=5)
        (stacks / f"rank_{rank}.txt").write_text(text)
    assert diagnose(stacks).diagnoses[0].locations[0].source.strip() == "dist.barrier()"
    for rank in range(2):
        (stacks / f"rank_{rank}.txt").write_text(dump.format(pid=800 + rank, script="train.py", line=5))
    assert diagnose(stacks).diagnoses[0].locations[0].source.strip() == "dist.barrier()"
    (tmp_path / "train.py").write_text(code.replace("def main", "def other"))
    assert diagnose(stacks).diagnoses[0].locations[0].source == ""


def test_processes_are_numbered_beside_a_log_that_knows_ranks_but_no_processes(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text("".join(watchdog(rank, 8, "ALLREDUCE", 10) for rank in (0, 2)))
    (tmp_path / "stacks.txt").write_text((DATA / "pyspy.txt").read_text())
    report = diagnose(tmp_path)
    assert all(diagnosis.culprits.members == (1,) for diagnosis in report.diagnoses)
    assert [status.location.line for status in report.ranks if status.location] == [20, 11, 20]


def test_numbers_of_groups_that_the_log_does_not_name_are_not_compared() -> None:
    line = (
        watchdog(4, 610, "COALESCED", 56320) + watchdog(6, 610, "COALESCED", 76800) + watchdog(5, 310, "ALLREDUCE", 8)
    )
    log = line.replace("PG ID 0 PG GUID 0(default_pg) Rank 4", "PG ID 2 PG GUID 9 Rank 0")
    log = log.replace("PG ID 0 PG GUID 0(default_pg) Rank 6", "PG ID 2 PG GUID 9 Rank 2")
    log = log.replace("PG ID 0 PG GUID 0(default_pg) Rank 5", "PG ID 3 PG GUID 11 Rank 0")
    for rank in (4, 5, 6):
        log = log.replace(f"[Rank {rank}]", "[Rank 0]")
    report = diagnose("-", stdin=log.encode())
    assert report.outcome is Outcome.HANG
    assert all(not diagnosis.culprits for diagnosis in report.diagnoses)
    assert any("numbers are not compared" in note for note in report.notes)


def test_the_same_stack_in_two_formats_is_no_movement(tmp_path: Path) -> None:
    for rank, dump in enumerate((DATA / "pyspy.txt").read_text().split("Process ")[1:]):
        (tmp_path / f"rank_{rank}.txt").write_text(f"Process {dump}")
        lines = [line.strip() for line in dump.splitlines() if line.startswith("    ")]
        frames = [
            {"name": line.partition(" (")[0], "filename": f"/long/{line[line.index('(') + 1 : line.rindex(':')]}"}
            | {"line": int(line[line.rindex(":") + 1 : -1])}
            for line in lines
        ]
        thread = {"pid": 13675 + rank, "thread_name": "MainThread", "os_thread_id": 13675 + rank, "frames": frames}
        (tmp_path / f"rank_{rank}.json").write_text(json.dumps([thread | {"active": False, "owns_gil": False}]))
    report = diagnose(tmp_path)
    assert report.outcome is Outcome.HANG
    assert report.diagnoses[0].culprits.members == (1,)


def test_a_log_without_a_word_of_a_hang_is_no_sign_that_there_is_none() -> None:
    with pytest.raises(InputError, match="ranks 0-1 are named, and no line says that a rank waits or failed"):
        diagnose("-", stdin=b"[rank0]: step 7 loss 0.2\n[rank1]: step 7 loss 0.3\n")
