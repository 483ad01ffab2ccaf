"""Input files and mutations of them: truncated, torn, mixed, inflated, or malicious."""

from __future__ import annotations

import gzip
import json
import pickle
import random
from collections.abc import Callable
from pathlib import Path

DATA = Path(__file__).parents[1] / "unit" / "archive" / "data"

RECORDER = {
    "version": "2.10",
    "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2]"}},
    "pg_status": {"0": {"last_enqueued_collective": 2, "last_started_collective": 2, "last_completed_collective": 1}},
    "entries": [
        {
            "frames": [{"name": "main", "filename": "/home/u/train.py", "line": 20}],
            "record_id": number,
            "pg_id": 0,
            "process_group": ["0", "default_pg"],
            "collective_seq_id": number,
            "p2p_seq_id": 0,
            "op_id": number,
            "profiling_name": "nccl:all_reduce",
            "time_created_ns": 1_700_000_000_000_000_000 + number,
            "input_sizes": [[4, 8]],
            "input_dtypes": ["Float"],
            "output_sizes": [[4, 8]],
            "output_dtypes": ["Float"],
            "state": "scheduled",
            "is_p2p": False,
            "retired": number < 2,
        }
        for number in range(1, 3)
    ],
}
STACK = [
    {
        "pid": 812,
        "thread_id": 1,
        "thread_name": "MainThread",
        "os_thread_id": 812,
        "active": False,
        "owns_gil": False,
        "frames": [
            {"name": "all_reduce", "filename": "/x/torch/distributed/distributed_c10d.py", "line": 2935},
            {"name": "main", "filename": "/home/u/train.py", "line": 20},
        ],
    }
]
FATAL = """Fatal Python error: Segmentation fault

Current thread 0x00007f0 (most recent call first):
  File "/home/u/train.py", line 12 in main
  File "/home/u/train.py", line 20 in <module>
"""
GDB = """Attaching to process 812
Thread 1 (Thread 0x7f00 (LWP 812)):
Traceback (most recent call first):
  File "/x/torch/distributed/distributed_c10d.py", line 2935, in all_reduce
    work.wait()
  File "/home/u/train.py", line 12, in main
"""
NCCL = """node1:921:1146 [2] NCCL INFO ncclCommInitRank comm 0x5555 rank 10 nranks 16 cudaDev 2 busId 4 - Init START
node1:921:1149 [2] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer b<53735>
Waiting in store based barrier to initialize process group for rank: 2, key: store_based_barrier_key:1 (world_size=4, \
worker_count=3, timeout=0:30:00)
"""
#: words that carry numbers, ranks and lengths, to be put where they do not belong
_SPICES = (
    *(
        b"[rank99999999999999999999]: ",
        b"[rank3]: ",
        b"Traceback (most recent call last):\n",
        b"0" * 4000,
        b"\x00" * 64,
    ),
    *(b"rank      : 1048577 (local_rank: 1)\n", b"\xff\xfe", b"\x1b[2J", b"[" * 3000, b"(" * 3000, b"-" * 20000),
    *(b'{"entries": ', b'  File "', b"world_size=1048576", b"nranks 1048576", b"\x80\x04cos\nsystem\n(S'id'\ntR."),
    *(b"1e999", b"-1", b"NaN", b"\n" * 5000, b'Process 1: x\nThread 1 (idle): "MainThread"\n'),
)


#: what newer torch says, with a stack, a mismatch and a monitor
LOGGED = """[rank0]:[E1 P.cpp:632] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, \
OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600014 milliseconds before timing out.
[rank0]:[E1 P.cpp:2271] [PG ID 0 PG GUID 0(default_pg) Rank 0]  failure detected by watchdog at work sequence id: 9 PG \
status: last enqueued work: 11, last completed work: 8
[rank0]:[E1 P.cpp:733] Stack trace of the failed collective:
#0 all_reduce from /v/site-packages/torch/distributed/distributed_c10d.py:2935
#1 validate from /app/train.py:88
[rank1]:[E1 P.cpp:1746] [PG ID 0 PG GUID 0(default_pg) Rank 1] Received a dump signal due to a collective timeout from \
 rank 0. Last enqueued NCCL work: 8, last completed NCCL work: 8.
[rank2]:[F1 P.cpp:1169] [PG 0 Rank 2] ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress
[rank3]: RuntimeError: Detected mismatch between collectives on ranks. Rank 3 is running collective: \
CollectiveFingerPrint(SequenceNumber=9, OpType=ALLREDUCE, TensorShape=[20, 10], x), but Rank 1 is running collective: \
CollectiveFingerPrint(SequenceNumber=9, OpType=BROADCAST, TensorShape=[20], x).
[rank3]: [3] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store by key '0'
"""
WRAPPED = "".join(
    json.dumps(
        {"rank": rank, "log": f"Traceback (most recent call last):\n  File 'a.py', line {rank}, in f\nOSError: {rank}"}
    )
    + f"\ntrainer-{rank}-1  | [rank{rank}]: step\n2024-08-16T01:45:40.183Z stderr F [default{rank}]: x\n"
    for rank in range(4)
)
SCHEDULED = """slurmstepd: error: Detected 1 oom_kill event in StepId=8812.0.
srun: error: node07: tasks 3,5-7: Out Of Memory
slurmstepd: error: *** STEP 8812.0 ON n1 CANCELLED AT 2024-04-23T12:18:08 DUE TO TIME LIMIT ***
srun: error: node06: tasks 0-2: Terminated
[8121.2] Memory cgroup out of memory: Killed process 14751 (python) total-vm:1kB, anon-rss:1kB
"""


def seeds() -> tuple[bytes, ...]:
    """One file of each kind."""
    texts = [path.read_bytes() for path in sorted(DATA.iterdir()) if path.is_file()]
    recorder = json.dumps(RECORDER).encode()
    return (
        *texts,
        *(text.encode() for text in (FATAL, GDB, NCCL, LOGGED, WRAPPED, SCHEDULED)),
        recorder,
        json.dumps(STACK).encode(),
        pickle.dumps(RECORDER, protocol=2),
        pickle.dumps(RECORDER, protocol=5),
        gzip.compress(recorder),
        b"ddpdpage" + bytes(8192),
    )


def mutated(data: bytes, others: tuple[bytes, ...], chance: random.Random) -> bytes:
    """The file after one to five accidents."""
    for _ in range(chance.randint(1, 5)):
        data = chance.choice(_ACCIDENTS)(data, others, chance)[: 1 << 20]
    return data


def _cut(data: bytes, _: tuple[bytes, ...], chance: random.Random) -> bytes:
    return data[: chance.randint(0, len(data))]


def _flip(data: bytes, _: tuple[bytes, ...], chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _n in range(chance.randint(1, 16) if changed else 0):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def _spice(data: bytes, _: tuple[bytes, ...], chance: random.Random) -> bytes:
    at = chance.randint(0, len(data))
    return data[:at] + chance.choice(_SPICES) + data[at:]


def _repeat(data: bytes, _: tuple[bytes, ...], chance: random.Random) -> bytes:
    first, last = sorted((chance.randint(0, len(data)), chance.randint(0, len(data))))
    return data[:last] + data[first:last] * chance.randint(1, 50) + data[last:]


def _splice(data: bytes, others: tuple[bytes, ...], chance: random.Random) -> bytes:
    other = chance.choice(others)
    return data[: chance.randint(0, len(data))] + other[chance.randint(0, len(other)) :]


def _shuffle(data: bytes, _: tuple[bytes, ...], chance: random.Random) -> bytes:
    lines = data.split(b"\n")
    chance.shuffle(lines)
    return b"\n".join(lines)


def _number(data: bytes, _: tuple[bytes, ...], chance: random.Random) -> bytes:
    """Another number in the place of one."""
    places = [n for n, byte in enumerate(data) if 48 <= byte <= 57]
    if not places:
        return data
    at = chance.choice(places)
    return data[:at] + str(chance.choice((0, -1, 7, 1 << 31, 1 << 63, 10**30))).encode() + data[at + 1 :]


_ACCIDENTS: tuple[Callable[[bytes, tuple[bytes, ...], random.Random], bytes], ...] = (
    *(_cut, _flip, _spice, _repeat, _splice, _shuffle, _number),
)
