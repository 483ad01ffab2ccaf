"""Parsing of single lines and passages of logs, in the formats of many torch versions."""

from __future__ import annotations

import pytest

from ddpdoctor.archive import nccl_log, rendezvous_log, torchrun_log, tracebacks, watchdog_log
from ddpdoctor.archive.fragment import CollectiveTimeout
from ddpdoctor.archive.log_streams import split
from ddpdoctor.archive.text_reader import is_abandoned_wait, is_timeout
from ddpdoctor.model.ranks import Rank

TIMEOUT = "Watchdog caught collective operation timeout: "


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param(
            f"[E ProcessGroupNCCL.cpp:737] [Rank 1] {TIMEOUT}WorkNCCL(SeqNum=469508, OpType=ALLREDUCE, "
            "Timeout(ms)=1800000) ran for 1802212 milliseconds before timing out.",
            CollectiveTimeout("all_reduce", 469508, milliseconds=1800000, rank_in_group=1),
            id="1.10",
        ),
        pytest.param(
            f"[E ProcessGroupNCCL.cpp:587] [Rank 2] {TIMEOUT}WorkNCCL(OpType=BROADCAST, TensorShape=[1, 2], "
            "Timeout(ms)=1800000) ran for 1800813 milliseconds before timing out.",
            CollectiveTimeout("broadcast", None, milliseconds=1800000, rank_in_group=2),
            id="1.9, which knows no numbers",
        ),
        pytest.param(
            f"[rank3]:[E1206 18:44:12.7 ProcessGroupNCCL.cpp:607] [Rank 3] {TIMEOUT}WorkNCCL(SeqNum=7753, "
            "OpType=_REDUCE_SCATTER_BASE, NumelIn=544997376, NumelOut=68124672, Timeout(ms)=600000) ran for 600061 "
            "milliseconds before timing out.",
            CollectiveTimeout("reduce_scatter_tensor", 7753, "", "", 544997376, 68124672, 600000, rank_in_group=3),
            id="2.4",
        ),
        pytest.param(
            "[rank1]:[E1002 18:16:40.6 ProcessGroupNCCL.cpp:756] [Rank 1] Work WorkNCCL(SeqNum=2521, OpType=ALLREDUCE, "
            "NumelIn=160672064, NumelOut=160672064, Timeout(ms)=600000) timed out in blocking wait.",
            CollectiveTimeout("all_reduce", 2521, "", "", 160672064, 160672064, 600000, rank_in_group=1),
            id="2.8, blocking wait",
        ),
        pytest.param(
            "[rank4]:[E318 07:39:53.7 ProcessGroupNCCL.cpp:1785] [PG ID 2 PG GUID 9 Rank 0] Exception (either an "
            "error or timeout) detected by watchdog at work: 610, last enqueued NCCL work: 616, "
            "last completed NCCL work: 609.",
            CollectiveTimeout("", 610, "9", "", enqueued=616, completed=609, rank_in_group=0),
            id="2.6, frontier in a group",
        ),
        pytest.param(
            "[rank1]:[E626 06:24:44.9 ProcessGroupNCCL.cpp:1834] [PG ID 0 PG GUID 0(default_pg) Rank 1] Timeout at "
            "NCCL work: 808, last enqueued NCCL work: 811, last completed NCCL work: 807.",
            CollectiveTimeout("", 808, "0", "default_pg", enqueued=811, completed=807, rank_in_group=1),
            id="2.6, frontier in the default group",
        ),
        pytest.param(
            "[rank0]:[E1206 18:44:12.7 ProcessGroupNCCL.cpp:1664] [PG 1 Rank 0] Exception (either an error or timeout) "
            "detected by watchdog at work: 7753, last enqueued NCCL work: 7755, last completed NCCL work: 7752.",
            CollectiveTimeout("", 7753, "1", "", enqueued=7755, completed=7752, rank_in_group=0),
            id="2.3, one number",
        ),
        pytest.param(
            "[rank3]:[E909 09:55:46.9 ProcessGroupNCCL.cpp:1709] [PG 0 (default_pg) Rank 3] Timeout at NCCL work: "
            "2070, last enqueued NCCL work: 2082, last completed NCCL work: 2069.",
            CollectiveTimeout("", 2070, "0", "default_pg", enqueued=2082, completed=2069, rank_in_group=3),
            id="2.4, number and description",
        ),
    ],
)
def test_a_watchdogs_line(line: str, expected: CollectiveTimeout) -> None:
    (said,) = watchdog_log.find((line,))
    assert said.timeout == expected
    assert said.timed_out is bool(expected.op)


def test_other_lines_are_no_watchdogs() -> None:
    lines = ("step 12 loss 0.3", "WorkNCCL(", "last enqueued NCCL work: many", f"{TIMEOUT}WorkNCCL(SeqNum=x)")
    assert list(watchdog_log.find(lines)) == []


def test_streams_by_torchs_prefix_by_roles_and_by_srun() -> None:
    torch = split("[rank1]: a\nplain\n2024-08-16T01:45:40Z pod-0 [rank0]:[E8 x] b\n[rank1]: c")
    assert [(s.rank, s.lines) for s in torch] == [(1, ("a", "c")), (None, ("plain",)), (0, ("[E8 x] b",))]
    roles = split("[default0]:x\n[default1]:[rank5]: y\n[gpu3]: z")
    assert [(s.rank, s.local_rank, s.lines) for s in roles] == [
        (None, 0, ("x",)),
        (5, None, ("y",)),
        (None, None, ("[gpu3]: z",)),
    ]
    assert [s.rank for s in split("0: a\n1: b\n0: c")] == [0, 1]
    assert [s.rank for s in split("12: a list\nand more\nof text")] == [None]
    assert [s.rank for s in split("Fri Aug 11 2023[1,3]<stderr>:x")] == [3]


def test_torchruns_summary_names_ranks_signals_and_times() -> None:
    lines = (
        "E0325 20:57:27 2606 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -9) local_rank: 5 "
        "(pid: 2630) of binary: /usr/bin/python",
        "Failures:",
        "[1]:",
        "  time      : 2025-05-21_15:43:05",
        "  host      : node1",
        "  rank      : 6 (local_rank: 6)",
        "  exitcode  : -15 (pid: 2631)  (SIGTERM)",
        "  error_file: <N/A>",
        "  traceback : Signal 15 (SIGTERM) received by PID 2631",
        "Root Cause (first observed failure):",
        "[0]:",
        "  time      : 2025-05-21_15:43:03",
        "  host      : node1",
        "  rank      : 5 (local_rank: 5)",
        "  exitcode  : -9 (pid: 2630)",
        "============================",
    )
    first, second, third = torchrun_log.find(lines)
    assert (first.rank, first.pid, first.ended.status, first.ended.local_rank) == (None, 2630, -9, 5)
    assert (second.rank, second.pid, second.ended.status) == (6, 2631, -15)
    assert (third.rank, third.pid, third.ended.status, third.ended.host) == (5, 2630, -9, "node1")
    assert second.ended.time is not None
    assert third.ended.time == second.ended.time - 2


def test_a_recorded_worker_tells_its_traceback_in_the_summary() -> None:
    lines = (
        "[0]:",
        "  time      : 2025-05-21_15:43:03",
        "  host      : node1",
        "  rank      : 5 (local_rank: 1)",
        "  exitcode  : 1 (pid: 2630)",
        "  error_file: /tmp/x/error.json",
        "  traceback : Traceback (most recent call last):",
        '    File "/home/u/train.py", line 7, in main',
        "      raise ValueError(3)",
        "  ValueError: 3",
        "  ",
        "============================",
    )
    (worker,) = torchrun_log.find(lines)
    assert worker.ended.raised is not None
    assert (worker.ended.raised.type, worker.ended.raised.message) == ("ValueError", "3")
    assert [frame.line for frame in worker.ended.raised.frames] == [7]


STORE = "Waiting in store based barrier to initialize process group for rank: {}, key: store_based_barrier_key:1 "


def test_a_store_barrier_names_its_reporter_and_counts_who_came() -> None:
    waiting = STORE.format(2) + "(world_size=4, worker_count=3, timeout=0:30:00)"
    (report,) = rendezvous_log.find((waiting, waiting))
    assert (report.rank, report.world_size, report.missing.arrived, report.missing.named) == (2, 4, 3, ())


def test_a_store_barrier_that_was_passed_is_no_wait() -> None:
    waiting = STORE.format(2) + "(world_size=4, worker_count=3, timeout=0:30:00)"
    done = "Rank 2: Completed store-based barrier for key:store_based_barrier_key:1 with 4 nodes."
    assert list(rendezvous_log.find((waiting, done))) == []


def test_newer_spellings_of_rendezvous() -> None:
    lines = (
        "RuntimeError: Timed out initializing process group in store based barrier on rank: 7, for key: "
        "store_based_barrier_key:32 (world_size=8, num_workers_joined=4, timeout=0:00:30)",
        "torch.distributed.DistStoreError: Timed out after 1801 seconds waiting for clients. 1/3 clients joined.",
        "[Rank 0]: Ranks 1, 3 failed to pass monitoredBarrier in 10000 ms",
    )
    barrier, clients, monitored = rendezvous_log.find(lines)
    assert (barrier.rank, barrier.missing.arrived, barrier.world_size) == (7, 4, 8)
    assert (clients.rank, clients.missing.arrived, clients.world_size) == (None, 1, 3)
    assert (monitored.rank, monitored.missing.named) == (0, (1, 3))


def test_nccl_says_ranks_sizes_and_complains() -> None:
    lines = (
        "node1:921:1146 [2] NCCL INFO ncclCommInitRank comm 0x5555 rank 10 nranks 16 cudaDev 2 busId 4 - Init START",
        "node1:921:1149 [2] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer b<53735>",
        "node1:921:1149 [2] NCCL INFO misc/socket.cc:749 -> 6",
    )
    assert list(nccl_log.find(lines)) == [
        nccl_log.Communicator("node1", 921, Rank(10), 16),
        nccl_log.NcclWarning("node1", 921, "socketProgress: Connection closed by remote peer b<53735>"),
    ]


CHAIN = """Traceback (most recent call last):
  File "/home/u/train.py", line 3, in load
    open(path)
FileNotFoundError: [Errno 2] No such file or directory: 'x'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/home/u/train.py", line 9, in main
    load(path)
  File "/home/u/train.py", line 5, in load
    raise RuntimeError("no data")
RuntimeError: no data
step 3
"""


def test_of_a_chain_the_last_exception_left_the_program() -> None:
    (raised,) = tracebacks.find(tuple(CHAIN.splitlines()))
    assert (raised.type, raised.message.splitlines()[0]) == ("RuntimeError", "no data")
    assert [frame.line for frame in raised.frames] == [5, 9]
    assert "FileNotFoundError" in raised.traceback


def test_a_launchers_exception_is_nobodys() -> None:
    text = """Traceback (most recent call last):
  File "/x/torch/distributed/launcher/api.py", line 383, in launch_agent
    raise ChildFailedError(
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
"""
    assert list(tracebacks.find(tuple(text.splitlines()))) == []


def test_a_spawned_process_is_told_by_its_index() -> None:
    lines = ("-- Process 1 terminated with the following error:", *CHAIN.splitlines())
    (found,) = tracebacks.find_all(lines)
    assert found.local_rank == 1


@pytest.mark.parametrize(
    ("message", "over", "given_up"),
    [
        ("[unbound_buffer.cc:78] Timed out waiting 6000ms for recv operation to complete", True, True),
        ("Connection closed by peer [127.0.1.1]:2312", False, True),
        ("CUDA out of memory", False, False),
    ],
)
def test_a_wait_that_was_given_up_is_no_failure(message: str, over: bool, given_up: bool) -> None:
    text = ("Traceback (most recent call last):", '  File "a.py", line 1, in f', "    x()", f"RuntimeError: {message}")
    (raised,) = tracebacks.find(text)
    assert is_timeout(raised) is over
    assert is_abandoned_wait(raised) is given_up
