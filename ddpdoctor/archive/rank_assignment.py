"""Pure. Which rank each fragment belongs to: from its content, its process, the name of its file, or its order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from ddpdoctor.archive import rank_from_filename
from ddpdoctor.archive.fragment import CollectiveTimeout, FatalSignal, Fragment, RankMention, RankSource, WorkerExit
from ddpdoctor.diagnose.digest.failure import ABORTED
from ddpdoctor.model.collectives import Recorder
from ddpdoctor.model.processes import ProcessState
from ddpdoctor.model.progress import Raised
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.stacks import Stacks

_LAUNCHING = ("torch/distributed/run.py", "torch/distributed/launcher/", "torch/distributed/elastic/agent/")
_LOADING = ("torch/utils/data/_utils/worker.py", "torchdata/stateful_dataloader/worker.py")
_AWAITING = ("torch/utils/data/dataloader.py", "torchdata/stateful_dataloader/stateful_dataloader.py")
#: tracebacks without a rank that are numbered individually
_MOST_UNNAMED = 64
_HELPING = ("multiprocessing/resource_tracker.py", "multiprocessing/forkserver.py", "_inductor/compile_worker/")


class ProcessKind(Enum):
    """The kind of process that stacks belong to, by the code it runs."""

    RANK = "rank"
    LOADER = "data loader worker"
    #: launchers and helper processes, which take part in no collective
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class RankAssignment:
    """Fragments by rank, in the order in which they were read; and those that no rank was found for."""

    by_rank: Mapping[Rank, tuple[Fragment, ...]]
    unassigned: tuple[Fragment, ...]

    def known_by(self, source: RankSource) -> RankSet:
        """Ranks that are known from this source and from no better one."""
        order = list(RankSource)
        best = {
            rank: min(order.index(fragment.rank_from) for fragment in fragments if fragment.rank_from)
            for rank, fragments in self.by_rank.items()
        }
        return RankSet.of(rank for rank, index in best.items() if order[index] is source)


def _silent(fragment: Fragment) -> bool:
    """Whether a file has no relevant content: its name counts as a rank only if similar files describe other ranks."""
    return isinstance(fragment.payload, RankMention) and fragment.payload.silent


def kind_of(stacks: Stacks) -> ProcessKind:
    files = {frame.file for thread in stacks.threads for frame in thread.frames}
    if any(part in file for file in files for part in _LOADING):
        return ProcessKind.LOADER
    main = stacks.main()
    outer = {frame.file for frame in main.frames} if main else files
    return (
        ProcessKind.OTHER
        if any(part in file for file in outer for part in (*_LAUNCHING, *_HELPING))
        else ProcessKind.RANK
    )


def assign_ranks(fragments: Sequence[Fragment]) -> RankAssignment:
    """Assign every fragment to a rank."""
    kept = _of_ranks(fragments)
    by_pid = _ranks_of_processes(kept)
    shared = _shared(kept)
    kept = _of_nodes(kept, shared)
    by_name = rank_from_filename.ranks(fragment.name for fragment in kept if fragment.name not in shared)
    owned = [_owned(_with_pid(fragment), by_pid, by_name) for fragment in kept]
    # a process whose rank is known from one file's name may have other fragments in files without a rank
    by_pid = {**_ranks_of_processes(owned), **by_pid}
    owned = [_owned(fragment, by_pid, by_name) for fragment in owned]
    owned = _data_workers(_only_one_left(_by_order(_unnamed_exceptions(owned))))
    if not any(fragment.rank is not None for fragment in owned):
        owned = _as_found(owned)
    lost = tuple(fragment for fragment in owned if fragment.rank is None)
    return RankAssignment(_by_rank(owned, kept), lost)


def _of_ranks(fragments: Sequence[Fragment]) -> list[Fragment]:
    """Without the stacks of launchers and helpers; without a task's number as a rank, where workers are listed."""
    kept = [
        fragment
        for fragment in fragments
        if not (isinstance(fragment.payload, Stacks) and kind_of(fragment.payload) is ProcessKind.OTHER)
    ]
    if any(isinstance(fragment.payload, WorkerExit) and fragment.payload.local_rank is not None for fragment in kept):
        return [replace(p, rank=None, rank_from=None) if p.rank_from is RankSource.TASK else p for p in kept]
    return kept


def _by_rank(owned: list[Fragment], kept: list[Fragment]) -> dict[Rank, tuple[Fragment, ...]]:
    by_rank: dict[Rank, list[Fragment]] = {}
    telling = {rank_from_filename.shape(fragment.name) for fragment in kept if not _silent(fragment)}
    for fragment in owned:
        if fragment.rank is not None and (not _silent(fragment) or rank_from_filename.shape(fragment.name) in telling):
            by_rank.setdefault(fragment.rank, []).append(fragment)
    return {rank: tuple(by_rank[rank]) for rank in sorted(by_rank)}


def _shared(fragments: Iterable[Fragment]) -> frozenset[str]:
    """Files that several ranks wrote (a node's or the job's log): their names do not identify a rank."""
    said: dict[str, set[Rank]] = {}
    in_groups: dict[str, set[int]] = {}
    for fragment in fragments:
        if fragment.rank is not None and fragment.rank_from in (RankSource.CONTENT, RankSource.LOCAL):
            said.setdefault(fragment.name, set()).add(fragment.rank)
        elif (
            isinstance(fragment.payload, CollectiveTimeout)
            and not fragment.payload.group
            and fragment.payload.rank_in_group is not None
        ):
            in_groups.setdefault(fragment.name, set()).add(fragment.payload.rank_in_group)
    # beside a global rank's prefix these are ranks within groups; without one nothing better is known
    return frozenset(n for every in (said, in_groups) for n, ranks in every.items() if len(ranks) > 1)


def _of_nodes(fragments: list[Fragment], shared: frozenset[str]) -> list[Fragment]:
    """Convert local ranks of several nodes' logs to global ranks, with nodes in the order of the numbers in their
    names."""
    local: dict[str, set[Rank]] = {}
    for fragment in fragments:
        if fragment.rank is not None and fragment.rank_from is RankSource.LOCAL and fragment.name in shared:
            local.setdefault(fragment.name, set()).add(fragment.rank)
    order = rank_from_filename.ranks(local)
    if len(local) < 2 or sorted(order.values()) != list(range(len(local))):
        return fragments
    each = max(max(ranks) for ranks in local.values()) + 1
    return [
        replace(fragment, rank=Rank(order[fragment.name] * each + fragment.rank))
        if fragment.rank is not None and fragment.rank_from is RankSource.LOCAL and fragment.name in order
        else fragment
        for fragment in fragments
    ]


def _as_found(fragments: list[Fragment]) -> list[Fragment]:
    """Give every traceback and stack without any rank a number of its own, in the order of appearance."""
    whose: list[tuple[object, str]] = []
    found = []
    for fragment in fragments:
        if isinstance(fragment.payload, Raised) or (isinstance(fragment.payload, Stacks) and fragment.pid is None):
            key = (
                fragment.payload.traceback if isinstance(fragment.payload, Raised) else fragment.payload,
                fragment.name,
            )
            if key not in whose:
                whose.append(key)
            if len(whose) <= _MOST_UNNAMED:
                fragment = replace(fragment, rank=Rank(whose.index(key)), rank_from=RankSource.TEXT_ORDER)
        found.append(fragment)
    return found


def _with_pid(fragment: Fragment) -> Fragment:
    """Add the process id from the name of a dump; in a log's name a number is usually the job's."""
    if fragment.pid is not None or not isinstance(fragment.payload, Stacks | Recorder | ProcessState | FatalSignal):
        return fragment
    return replace(fragment, pid=rank_from_filename.pid(fragment.name))


def _ranks_of_processes(fragments: Iterable[Fragment]) -> dict[int, Rank]:
    """Process ids whose rank is certain; of NCCL's communicators only the largest gives the global rank."""
    fragments = [fragment for fragment in fragments if fragment.pid is not None and fragment.rank is not None]
    largest = max((p.world_size or 0 for p in fragments if isinstance(p.payload, RankMention)), default=0)
    found: dict[int, set[Rank]] = {}
    order = {RankSource.CONTENT: 0, RankSource.NAME: 1, RankSource.LOCAL: 2}
    for fragment in sorted(fragments, key=lambda p: order.get(p.rank_from or RankSource.LOCAL, 3)):
        of_a_part = isinstance(fragment.payload, RankMention) and (fragment.world_size or 0) < largest
        if fragment.pid is None or fragment.rank is None or of_a_part:
            continue
        if fragment.rank_from is RankSource.CONTENT or fragment.pid not in found:
            found.setdefault(fragment.pid, set()).add(fragment.rank)
    return {pid: next(iter(ranks)) for pid, ranks in found.items() if len(ranks) == 1}


def _owned(fragment: Fragment, by_pid: Mapping[int, Rank], by_name: Mapping[str, Rank]) -> Fragment:
    if fragment.rank_from is RankSource.CONTENT:
        return fragment
    if fragment.pid is not None and fragment.pid in by_pid:
        rank = by_pid[fragment.pid]
        return fragment if fragment.rank == rank else replace(fragment, rank=rank, rank_from=RankSource.PROCESS)
    if fragment.rank is None and fragment.name in by_name and not isinstance(fragment.payload, WorkerExit):
        return replace(fragment, rank=by_name[fragment.name], rank_from=RankSource.NAME)
    if (
        fragment.rank is None
        and isinstance(fragment.payload, CollectiveTimeout)
        and fragment.payload.rank_in_group is not None
    ):
        return replace(fragment, rank=Rank(fragment.payload.rank_in_group), rank_from=RankSource.CONTENT)
    return fragment


def _only_one_left(fragments: list[Fragment]) -> list[Fragment]:
    """Give the one process without a rank the one rank that nobody has, where the others say how many there are: it has
    not come so far that a page or a message could name it."""
    said = [one for one in fragments if one.rank is not None and one.rank_from is RankSource.CONTENT]
    size = max((one.world_size or 0 for one in said), default=0)
    missing = RankSet.of(range(size)) - RankSet.of(one.rank for one in fragments if one.rank is not None)
    without = {
        one.pid: one
        for one in fragments
        if one.rank is None and isinstance(one.payload, Stacks) and kind_of(one.payload) is ProcessKind.RANK
    }
    if len(missing) != 1 or len(without) != 1 or None in without:
        return fragments
    (rank,), (pid,) = missing.members, without
    return [
        replace(one, rank=rank, rank_from=RankSource.PROCESS) if one.rank is None and one.pid == pid else one
        for one in fragments
    ]


def _unnamed_exceptions(fragments: list[Fragment]) -> list[Fragment]:
    """Assign a traceback without a rank to the one worker that failed with an exit status of its own, if only one
    did."""
    raised = [fragment for fragment in fragments if isinstance(fragment.payload, Raised) and fragment.rank is None]
    known = {fragment.rank for fragment in fragments if isinstance(fragment.payload, Raised)}
    native = len(raised) > 0 and not any(p.payload.frames for p in raised if isinstance(p.payload, Raised))
    ended = [
        fragment for fragment in fragments if isinstance(fragment.payload, WorkerExit) and fragment.rank is not None
    ]
    failed = {p.rank for p in ended if isinstance(p.payload, WorkerExit) and _fits(p.payload.status, native=native)}
    if len(failed - known) != 1 or not raised or len({_kind(fragment) for fragment in raised}) != 1:
        return fragments
    (rank,) = failed - known
    return [
        replace(p, rank=rank, rank_from=RankSource.PROCESS) if p is raised[0] else p
        for p in fragments
        if p not in raised[1:]
    ]


def _fits(status: int, *, native: bool) -> bool:
    """Whether an exit status fits: the interpreter exits with a status after an exception, native code aborts."""
    return status == ABORTED if native else status > 0


def _kind(fragment: Fragment) -> object:
    return (fragment.payload.type, fragment.payload.message) if isinstance(fragment.payload, Raised) else None


def _by_order(fragments: list[Fragment]) -> list[Fragment]:
    """If no rank is known at all, number the processes by id: launchers start workers in the order of ranks."""
    stacks = [p for p in fragments if isinstance(p.payload, Stacks) and kind_of(p.payload) is ProcessKind.RANK]
    pids = sorted({fragment.pid for fragment in stacks if fragment.pid is not None})
    known = any(fragment.rank is not None and fragment.pid is not None for fragment in fragments)
    if known or any(fragment.rank is not None or fragment.pid is None for fragment in stacks) or not pids:
        return fragments
    ranks = {pid: Rank(number) for number, pid in enumerate(pids)}
    return [
        replace(fragment, rank=ranks[fragment.pid], rank_from=RankSource.ORDER) if fragment.pid in ranks else fragment
        for fragment in fragments
    ]


def _data_workers(fragments: list[Fragment]) -> list[Fragment]:
    """Assign a data loader worker to the rank that waits for data, if only one rank does."""
    waiting = {
        fragment.rank
        for fragment in fragments
        if isinstance(fragment.payload, Stacks) and fragment.rank is not None and _waits_for_data(fragment.payload)
    }
    if len(waiting) != 1:
        return fragments
    (rank,) = waiting
    lost = {
        p.pid
        for p in fragments
        if p.rank is None and isinstance(p.payload, Stacks) and kind_of(p.payload) is ProcessKind.LOADER
    }
    return [
        replace(p, rank=rank, rank_from=RankSource.PROCESS) if p.rank is None and p.pid in lost else p
        for p in fragments
    ]


def _waits_for_data(stacks: Stacks) -> bool:
    main = stacks.main()
    return main is not None and any(part in frame.file for frame in main.frames for part in _AWAITING)
