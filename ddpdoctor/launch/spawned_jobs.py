"""Impure. Jobs of torch.multiprocessing.spawn, whose environment does not say which process is which rank.

A process learns its rank as an argument, so its stack is asked: the number is a local of torch's own frame at its root.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from ddpdoctor.collect import pyspy
from ddpdoctor.collect.frame_locals import kept
from ddpdoctor.launch.host_jobs import HostJob, SeenProcess, name_of
from ddpdoctor.model.evidence import Gap
from ddpdoctor.model.ranks import Rank, Role, Worker

#: the function of torch/multiprocessing/spawn.py at the root of each process, and its local with the number
_WRAP, _NUMBER = "_wrap", "i"


def find(processes: Mapping[int, SeenProcess], known: Collection[int]) -> Iterator[HostJob]:
    """Jobs among the processes that are in no known job; asks one stack for each family of alike Python processes."""
    families: dict[int, list[SeenProcess]] = defaultdict(list)
    for seen in processes.values():
        parent = processes.get(seen.parent)
        if parent is not None and seen.pid not in known and parent.pid not in known and _is_alike(seen, parent):
            families[parent.pid].append(seen)
    for pid, children in families.items():
        if _number(children[0].pid) is None:
            continue
        numbers = {seen.pid: _number(seen.pid) for seen in children}
        places = {child: Rank(number) for child, number in numbers.items() if number is not None}
        if len(places) > 1 and sorted(places.values()) == list(range(len(places))):
            yield _job(processes[pid], places)


def _job(parent: SeenProcess, places: Mapping[int, Rank]) -> HostJob:
    ranks = sorted(places, key=lambda pid: places[pid])
    return HostJob(
        name=name_of(parent.command),
        aliases=(),
        roots=(parent.pid,),
        ranks=tuple(ranks),
        world_size=len(ranks),
        uid=parent.uid,
        started=parent.started,
        command=parent.command,
        spawned=True,
    )


def as_ranks(workers: tuple[Worker, ...], job: HostJob) -> tuple[Worker, ...]:
    """The same processes with the roles that a job of mp.spawn gives them: its ranks, and what these have started."""
    places = {pid: Rank(rank) for rank, pid in enumerate(job.ranks)} if job.spawned else {}
    parents = {worker.pid: worker.parent for worker in workers}
    return tuple(_placed(worker, places, parents) for worker in workers)


def _placed(worker: Worker, places: Mapping[int, Rank], parents: Mapping[int, int | None]) -> Worker:
    above: int | None = worker.pid
    while above is not None and above not in places:
        above = parents.get(above)
    if above is None:
        return worker
    if above == worker.pid:
        return replace(worker, role=Role.RANK, rank=places[above], world_size=len(places))
    return replace(worker, role=Role.CHILD, parent=above)


def _is_alike(seen: SeenProcess, parent: SeenProcess) -> bool:
    """Whether multiprocessing has started a Python process from another one: by fork, or as its own program."""
    program = Path(seen.command[0]).name if seen.command else ""
    spawned = any("multiprocessing.spawn" in word for word in seen.command[1:])
    return program.startswith(("python", "pypy")) and (spawned or seen.command == parent.command)


def _number(pid: int) -> int | None:
    """The number that mp.spawn gave a process, None if another one started it."""
    answer = pyspy.fetch(Worker(pid, 0.0, Role.CHILD), keep=kept)
    if answer is None or isinstance(answer, Gap):
        return None
    for thread in pyspy.parse(answer).threads:
        for index, frame in enumerate(thread.frames):
            if frame.function == _WRAP and (local := thread.local(index, _NUMBER)) is not None:
                return local.value
    return None
