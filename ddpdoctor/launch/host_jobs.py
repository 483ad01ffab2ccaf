"""Impure. Distributed jobs of this host that nobody wrapped, found by the environments and parents of processes."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from ddpdoctor.launch.discovery import now

#: what tells jobs apart, and the recorders and pages that a process was told to use
_READ = frozenset({
    "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID",
    "SLURM_JOB_ID", "SLURM_JOB_NAME", "_DDPDOCTOR_RUN",
})  # fmt: skip
_HERE = ("", "localhost", "127.0.0.1", "::1")
#: what a launcher is called, whatever started it
_LAUNCHERS = ("torchrun", "torch.distributed", "accelerate", "deepspeed", "launch", "lightning", "horovodrun")
_MODULE = "-m"
#: seconds in which a launcher has started all its ranks
_STARTED = 5.0


@dataclass(frozen=True, slots=True)
class HostJob:
    """A job of which at least one rank runs here."""

    #: what it runs: the script's name, or the module's
    name: str
    #: other names that it can be called by: of its launcher's rendezvous and of Slurm
    aliases: tuple[str, ...]
    #: processes whose trees hold the whole job as far as it is here: its launchers, or ranks that have none
    roots: tuple[int, ...]
    #: pids of its ranks, by rank
    ranks: tuple[int, ...]
    world_size: int
    uid: int
    #: seconds since the epoch
    started: float
    #: of its launcher, or of its first rank
    command: tuple[str, ...]
    #: ranks that torchrun has started here and that are gone while it lets the others run: they ended without an error
    finished: tuple[int, ...] = ()
    #: made by mp.spawn, so that no environment tells which process is which rank
    spawned: bool = False
    #: where `ddpdoctor watch` keeps the pages of the ranks, None if nobody watches
    run: Path | None = None

    @property
    def pid(self) -> int:
        return self.roots[0]

    @property
    def age(self) -> float:
        """Seconds since its first process started."""
        return max(0.0, now() - self.started)


@dataclass(frozen=True, slots=True)
class SeenProcess:
    """A live process of this host, as far as it may be read."""

    pid: int
    parent: int
    uid: int
    started: float
    command: tuple[str, ...]
    environ: Mapping[str, str]

    @property
    def rank(self) -> int | None:
        text = self.environ.get("RANK", "")
        return int(text) if text.isdigit() and self.environ.get("WORLD_SIZE", "").isdigit() else None

    @property
    def meeting(self) -> tuple[str, ...]:
        """What all ranks of one job have in common, and no two jobs on one host."""
        address, port, run = (self.environ.get(k, "") for k in ("MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID"))
        network = _namespace(self.pid, "net") if address in _HERE else ""
        return address, port, run, self.environ.get("SLURM_JOB_ID", ""), network


def processes_of_host() -> dict[int, SeenProcess]:
    """All live processes; the environment is empty where it may not be read."""
    return {seen.pid: seen for pid in psutil.pids() if (seen := _see(pid))}


def find(processes: Mapping[int, SeenProcess] | None = None) -> tuple[HostJob, ...]:
    """All jobs whose environment may be read, the newest first."""
    processes = processes_of_host() if processes is None else processes
    split = _by_job(seen for seen in processes.values() if seen.rank is not None and _is_top(seen, processes))
    # who has started ranks of several jobs, a sweep or a test runner, is the launcher of none
    counted = Counter(parent for part in split for parent in {seen.parent for seen in part})
    launchers = {pid: seen for pid, seen in processes.items() if counted[pid] == 1 and _launches(seen)}
    return tuple(sorted((_job(ranks, launchers) for ranks in split), key=lambda job: (-job.started, job.pid)))


def _by_job(ranks: Iterable[SeenProcess]) -> list[list[SeenProcess]]:
    groups: dict[tuple[object, ...], list[SeenProcess]] = defaultdict(list)
    for seen in ranks:
        groups[seen.uid, seen.meeting].append(seen)
    return [part for group in groups.values() for part in _split(group)]


def of_process(pid: int, jobs: Iterable[HostJob]) -> HostJob | None:
    """The job that a process belongs to: as its launcher, its rank or a child of either."""
    by_member = {member: job for job in jobs for member in (*job.roots, *job.ranks)}
    try:
        chain = [pid, *(parent.pid for parent in psutil.Process(pid).parents())]
    except psutil.Error:
        return None
    found = next((by_member[one] for one in chain if one in by_member), None)
    return found or _only(job for job in jobs if _has_ancestor(job.pid, pid))


def named(name: str, jobs: Iterable[HostJob]) -> tuple[HostJob, ...]:
    """The jobs of this name: their script's, with or without `.py`, their rendezvous' or Slurm's."""
    return tuple(job for job in jobs if name in (job.name, job.name.removesuffix(".py"), *job.aliases))


def _only(jobs: Iterable[HostJob]) -> HostJob | None:
    found = list(jobs)
    return found[0] if len(found) == 1 else None


def _has_ancestor(pid: int, ancestor: int) -> bool:
    try:
        return ancestor > 1 and any(parent.pid == ancestor for parent in psutil.Process(pid).parents())
    except psutil.Error:
        return False


def _see(pid: int) -> SeenProcess | None:
    """A live process; its environment is empty where it may not be read."""
    try:
        process = psutil.Process(pid)
        with process.oneshot():
            if process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
                return None
            parent, started, command = process.ppid(), process.create_time(), tuple(process.cmdline())
            uid = process.uids().effective
        environ = _try(process.environ, {})
    except (psutil.Error, OSError):
        return None
    return SeenProcess(pid, parent, uid, started, command, {k: v for k, v in environ.items() if k in _READ})


def _try(ask: Callable[[], dict[str, str]], otherwise: dict[str, str]) -> dict[str, str]:
    try:
        return ask()
    except (psutil.Error, OSError):
        return otherwise


def _is_top(seen: SeenProcess, processes: Mapping[int, SeenProcess]) -> bool:
    """Whether it is the rank itself, and not a child, which has inherited the rank's environment."""
    above = processes.get(seen.parent)
    return above is None or above.environ.get("RANK") != seen.environ.get("RANK") or above.meeting != seen.meeting


def _split(group: list[SeenProcess]) -> Iterator[list[SeenProcess]]:
    """Jobs that cannot be told by where they meet are told by their launchers: no job has a rank twice."""
    if len({seen.rank for seen in group}) == len(group):
        yield group
        return
    by_parent: dict[int, list[SeenProcess]] = defaultdict(list)
    for seen in group:
        by_parent[seen.parent].append(seen)
    yield from by_parent.values()


def _job(ranks: list[SeenProcess], candidates: Mapping[int, SeenProcess]) -> HostJob:
    ranks.sort(key=lambda seen: (seen.rank or 0, seen.pid))
    first = ranks[0]
    launchers = dict.fromkeys(seen.parent for seen in ranks if seen.parent in candidates)
    roots = tuple(launchers) or tuple(seen.pid for seen in ranks)
    orphans = tuple(seen.pid for seen in ranks if launchers and seen.parent not in launchers)
    head = candidates.get(roots[0], first)
    aliases = (first.environ.get(name, "") for name in ("TORCHELASTIC_RUN_ID", "SLURM_JOB_ID", "SLURM_JOB_NAME"))
    run = first.environ.get("_DDPDOCTOR_RUN", "")
    return HostJob(
        name=name_of(first.command),
        aliases=tuple(alias for alias in aliases if alias not in ("", "none")),
        roots=(*roots, *orphans),
        ranks=tuple(seen.pid for seen in ranks),
        world_size=max(int(seen.environ["WORLD_SIZE"]) for seen in ranks),
        uid=first.uid,
        started=min(seen.started for seen in (head, *ranks)),
        command=head.command,
        finished=_finished(ranks) if launchers and now() - head.started > _STARTED else (),
        run=Path(run) if run and os.access(run, os.R_OK | os.X_OK) else None,
    )


def _finished(ranks: list[SeenProcess]) -> tuple[int, ...]:
    """Ranks of torchrun's agents on this host that no process has any more. It ends all when one fails."""
    alive = {seen.rank for seen in ranks}
    expected: set[int] = set()
    for seen in ranks:
        number, local, size = (seen.environ.get(name, "") for name in ("RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE"))
        if "TORCHELASTIC_RUN_ID" in seen.environ and number.isdigit() and local.isdigit() and size.isdigit():
            expected |= set(range(int(number) - int(local), int(number) - int(local) + int(size)))
    return tuple(sorted(expected - alive))


def _launches(parent: SeenProcess) -> bool:
    """Whether the parent is a launcher: a Python program, or one with a launcher's name; no shell and no daemon."""
    if parent.pid <= 1 or not parent.command:
        return False
    names = [Path(word).name for word in parent.command[:4]]
    python = names[0].startswith(("python", "pypy"))
    return python or any(name.startswith(_LAUNCHERS) for name in names)


def name_of(command: tuple[str, ...]) -> str:
    """`train.py` of `python -u train.py --lr 1`, `trainer.main` of `python -m trainer.main`."""
    words = list(command[1:])
    while words:
        word = words.pop(0)
        if word == _MODULE and words:
            return words[0]
        if word in ("-X", "-W", "-c"):
            words[:1] = []
        elif not word.startswith("-"):
            return Path(word).name
    return Path(command[0]).name if command else "?"


def _namespace(pid: int, kind: str) -> str:
    try:
        return str(Path(f"/proc/{pid}/ns/{kind}").readlink())
    except OSError:
        return ""
