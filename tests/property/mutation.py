"""Files as they may be found, and what may have become of them: cut off, torn, mixed, swollen, or made to harm."""

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


def seeds() -> tuple[bytes, ...]:
    """One file of each kind."""
    texts = [path.read_bytes() for path in sorted(DATA.iterdir()) if path.is_file()]
    recorder = json.dumps(RECORDER).encode()
    return (
        *texts,
        *(text.encode() for text in (FATAL, GDB, NCCL)),
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
        data = chance.choice(_ACCIDENTS)(data, others, chance)
    return data[: 1 << 20]


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
