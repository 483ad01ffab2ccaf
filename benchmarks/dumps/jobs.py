"""Synthetic jobs as their recorders would record them: tensor-parallel, data-parallel and global groups, one mistake.

Each rank has a program, a list of operations. A device runs its operations in order; a collective completes when all
members of its group are in it with the same operation. The host runs ahead of the device, as on NCCL, so that rings end
with operations that were only queued.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

#: operations that a host queues behind the one that its device stands in
AHEAD = 3
#: operations at the end of a program that are played through; all before them are complete
_TAIL = 40
_START_NS = 1_790_000_000_000_000_000
_TORCH = "/opt/venv/lib/python3.11/site-packages/torch/distributed"


class Family(Enum):
    """The mistake."""

    #: one rank stands outside of all communication
    MISSING = "missing"
    #: one rank issues another operation
    MISMATCH = "mismatch"
    #: one rank uses two groups in the other order
    GROUP_CYCLE = "group-cycle"
    #: four ranks receive in a circle
    PAIR_CYCLE = "pair-cycle"
    #: one rank left one operation out, long ago; its others paired with the wrong ones since
    SKIPPED = "skipped"
    #: one rank leaves one operation out and goes on to one of another group
    LEFT_OUT = "left-out"


@dataclass(frozen=True, slots=True)
class Call:
    """One operation of a program."""

    group: str
    op: str
    numel: int
    line: int
    #: global ranks of a send or recv
    source: int = -1
    target: int = -1


@dataclass(frozen=True, slots=True)
class Job:
    """What a synthetic job is, and what a verdict on it must say."""

    family: Family
    world: int
    #: entries of each ring
    entries: int
    culprit: int
    code: str
    culprits: tuple[int, ...]
    tensor_parallel: int
    #: (group, seq) of a call -> how the call's counted numbers stand, filled by `programs`
    groups: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


def job(family: Family, world: int, entries: int = 500) -> Job:
    """A job of at least 8 ranks, in powers of two."""
    tensor = 8 if world >= 64 else 2
    groups = {"0": tuple(range(world))}
    for first in range(0, world, tensor):
        groups[str(1 + first // tensor)] = tuple(range(first, first + tensor))
    for index in range(tensor):
        groups[str(1 + world // tensor + index)] = tuple(range(index, world, tensor))
    culprit = world * 5 // 8
    codes = {
        Family.MISSING: ("DD299", (culprit,)),
        Family.MISMATCH: ("DD213", (culprit,)),
        Family.GROUP_CYCLE: ("DD220", (culprit,)),
        Family.PAIR_CYCLE: ("DD218", ()),
        Family.SKIPPED: ("DD299", (culprit,)),
        Family.LEFT_OUT: ("DD220", (culprit,)),
    }
    code, culprits = codes[family]
    return Job(family, world, entries, culprit, code, culprits, tensor, groups)


def _own(this: Job, rank: int) -> tuple[str, str, str]:
    """The names of the rank's groups: global, tensor-parallel, data-parallel."""
    tensor = this.tensor_parallel
    return "0", str(1 + rank // tensor), str(1 + this.world // tensor + rank % tensor)


def _step(names: tuple[str, str, str]) -> list[Call]:
    """One training step of one rank."""
    everyone, tensor, data = names
    return [
        Call(tensor, "all_reduce", 4096, 31),
        Call(tensor, "all_reduce", 4096, 36),
        Call(data, "all_reduce", 1_000_000, 44),
        Call(data, "all_reduce", 2_000_000, 44),
        Call(data, "all_reduce", 500_000, 44),
        Call(everyone, "all_reduce", 1, 52),
        Call(everyone, "all_reduce", 1, 53),
    ]


def _evaluation() -> list[Call]:
    """One round of an evaluation that only sums up numbers: no two of its operations can be told apart by size."""
    return [Call("0", "all_reduce", 1, line) for line in (80, 81, 82)]


def program(this: Job, rank: int) -> tuple[list[Call], int]:
    """The rank's operations, and how many of them its host comes to."""
    step = _evaluation() if this.family is Family.SKIPPED else _step(_own(this, rank))
    steps = (this.entries + 60) // len(step) + 2
    calls = step * steps
    last = len(calls) - len(step)
    guilty = rank == this.culprit
    if this.family is Family.MISSING and guilty:
        return calls, last + 3
    if this.family is Family.MISMATCH and guilty:
        calls[last + 5] = replace(calls[last + 5], op="_allgather_base", line=61)
    if this.family is Family.GROUP_CYCLE and guilty:
        calls[last + 4], calls[last + 5] = calls[last + 5], calls[last + 4]
    if this.family is Family.SKIPPED and guilty:
        del calls[len(step) * (steps - int(0.6 * this.entries / len(step))) + 1]
    if this.family is Family.LEFT_OUT and guilty:
        del calls[last - 1]
    if this.family is Family.PAIR_CYCLE and rank < 4:
        around = [
            Call("0", "recv", 1024, 70, source=(rank - 1) % 4, target=rank),
            Call("0", "send", 1024, 71, source=rank, target=(rank + 1) % 4),
        ]
        calls[last + 5 : last + 5] = around
    return calls, len(calls)


def play(this: Job) -> tuple[dict[int, list[Call]], dict[int, int], dict[int, int]]:
    """(programs, place of each device, operations that each host has issued) when nothing moves any more."""
    programs, hosts = {}, {}
    for rank in range(this.world):
        programs[rank], hosts[rank] = program(this, rank)
    places = {rank: max(0, min(map(len, programs.values())) - _TAIL) for rank in programs}
    numbered = {rank: _numbers(calls) for rank, calls in programs.items()}
    arrived: dict[tuple[Any, ...], dict[int, Call]] = {}
    queue = list(programs)
    while queue:
        rank = queue.pop()
        place = places[rank]
        if place >= hosts[rank]:
            continue
        call = programs[rank][place]
        key = (call.source, call.target) if call.source >= 0 else (call.group, numbered[rank][place])
        here = arrived.setdefault(key, {})
        here[rank] = call
        wanted = 2 if call.source >= 0 else len(this.groups[call.group])
        if len(here) == wanted and (call.source >= 0 or len({(c.op, c.numel) for c in here.values()}) == 1):
            for member in here:
                places[member] += 1
            queue.extend(here)
            del arrived[key]
    issued = {rank: min(hosts[rank], places[rank] + 1 + AHEAD) for rank in programs}
    return programs, places, issued


def _numbers(calls: list[Call]) -> list[int]:
    """The number of each call in its group; sends and receives do not count."""
    counts: dict[str, int] = {}
    found = []
    for call in calls:
        counts[call.group] = counts.get(call.group, 0) + (call.source < 0)
        found.append(counts[call.group])
    return found


def dumps(
    this: Job, version: str = "2.10"
) -> Iterator[tuple[int, dict[str, Any], list[tuple[object, dict[str, Any]]]]]:
    """(rank, head, entries with the key of their call), rank by rank."""
    programs, places, issued = play(this)
    written = {name: str(list(members)) for name, members in this.groups.items()}
    stacks = {line: _frames(line) for line in (31, 36, 44, 52, 53, 61, 70, 71, 80, 81, 82)}
    for rank in range(this.world):
        config = {
            name: {"name": name, "desc": desc, "ranks": written[name]}
            for name, desc in zip(_own(this, rank), ("default_pg", "mesh_tp", "mesh_dp"), strict=True)
        }
        status = {
            str(n): {
                "last_enqueued_collective": issued[rank],
                "last_started_collective": places[rank],
                "last_completed_collective": places[rank],
            }
            for n in range(3)
        }
        head = {"version": version, "pg_config": config, "comm_lib_version": "2.27.3", "pg_status": status}
        yield rank, head, list(_entries(this, rank, programs[rank], places[rank], issued[rank], stacks))


def _entries(
    this: Job, rank: int, calls: list[Call], place: int, issued: int, stacks: Mapping[int, list[dict[str, Any]]]
) -> Iterator[tuple[object, dict[str, Any]]]:
    numbers = _numbers(calls)
    names = _own(this, rank)
    pairs = 0
    for index in range(issued):
        call = calls[index]
        pairs += call.source >= 0
        if index < issued - this.entries:
            continue
        done = index < place
        yield (call, done), _entry(this, names, index, call, numbers[index], pairs, done, stacks)


def _entry(
    this: Job,
    names: tuple[str, str, str],
    index: int,
    call: Call,
    number: int,
    pairs: int,
    done: bool,
    stacks: Mapping[int, list[dict[str, Any]]],
) -> dict[str, Any]:
    ends = {"send": f" {call.source}->{call.target}", "recv": f" {call.target}<-{call.source}"}.get(call.op, "")
    desc = dict(zip(names, ("default_pg", "mesh_tp", "mesh_dp"), strict=True))[call.group]
    times = _START_NS + index * 100_000_000 + 5_000_000 if done else None
    return {
        "frames": stacks[call.line],
        "record_id": index,
        "pg_id": names.index(call.group),
        "process_group": (call.group, desc),
        "thread_name": "pt_main_thread",
        "thread_id": "139975764835200",
        "collective_seq_id": number,
        "p2p_seq_id": pairs if call.source >= 0 else 0,
        "op_id": index + 1,
        "profiling_name": f"nccl:{call.op}{ends}",
        "time_created_ns": _START_NS + index * 100_000_000,
        "input_sizes": [[call.numel]],
        "input_dtypes": ["Float"],
        "output_sizes": [[call.numel * (len(this.groups[call.group]) if "gather" in call.op else 1)]],
        "output_dtypes": ["Float"],
        "state": "completed" if done else "scheduled",
        "time_discovered_started_ns": None,
        "time_discovered_completed_ns": times,
        "retired": done,
        "timeout_ms": 600000,
        "is_p2p": call.source >= 0,
    }


def _frames(line: int) -> list[dict[str, Any]]:
    """Innermost first, as the recorder keeps them."""
    places = (
        ("all_reduce", f"{_TORCH}/distributed_c10d.py", 3245),
        ("wrapper", f"{_TORCH}/c10d_logger.py", 83),
        ("train_step", "/job/train.py", line),
        ("main", "/job/train.py", 90),
        ("<module>", "/job/train.py", 97),
    )
    return [{"name": name, "filename": file, "line": number} for name, file, number in places]
