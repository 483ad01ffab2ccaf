"""Pure. Whose a piece is: by its content, by another piece of the same process, by the file's name, or by order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from ddpdoctor.archive import rank_from_filename
from ddpdoctor.archive.fragment import Ended, Fatal, Mention, Piece, RankFrom, Timeout
from ddpdoctor.diagnose.digest.failure import ABORTED
from ddpdoctor.model.collectives import Recorder
from ddpdoctor.model.processes import ProcessState
from ddpdoctor.model.progress import Raised
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.stacks import Stacks

_LAUNCHING = ("torch/distributed/run.py", "torch/distributed/launcher/", "torch/distributed/elastic/agent/")
_LOADING = ("torch/utils/data/_utils/worker.py",)
#: tracebacks without a rank that are told apart
_MOST_UNNAMED = 64
_HELPING = ("multiprocessing/resource_tracker.py", "multiprocessing/forkserver.py", "_inductor/compile_worker/")


class Who(Enum):
    """What process a stack belongs to, by what it is running."""

    RANK = "rank"
    LOADER = "data loader worker"
    #: launchers and helper processes, which no collective waits for
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Placed:
    """Pieces by rank, in the order in which they were read; and what could not be placed."""

    by_rank: Mapping[Rank, tuple[Piece, ...]]
    lost: tuple[Piece, ...]

    def told_by(self, source: RankFrom) -> RankSet:
        """Ranks that are known by this and by nothing better."""
        order = list(RankFrom)
        best = {
            rank: min(order.index(piece.rank_from) for piece in pieces if piece.rank_from)
            for rank, pieces in self.by_rank.items()
        }
        return RankSet.of(rank for rank, index in best.items() if order[index] is source)


def _silent(piece: Piece) -> bool:
    """A file that says nothing: its name makes a rank only where its like says something of other ranks."""
    return isinstance(piece.payload, Mention) and piece.payload.silent


def who(stacks: Stacks) -> Who:
    files = {frame.file for thread in stacks.threads for frame in thread.frames}
    if any(part in file for file in files for part in _LOADING):
        return Who.LOADER
    main = stacks.main()
    outer = {frame.file for frame in main.frames} if main else files
    return Who.OTHER if any(part in file for file in outer for part in (*_LAUNCHING, *_HELPING)) else Who.RANK


def place(pieces: Sequence[Piece]) -> Placed:
    """Give every piece its rank."""
    kept = [piece for piece in pieces if not (isinstance(piece.payload, Stacks) and who(piece.payload) is Who.OTHER)]
    by_pid = _ranks_of_processes(kept)
    if any(isinstance(piece.payload, Ended) and piece.payload.local_rank is not None for piece in kept):
        kept = [replace(p, rank=None, rank_from=None) if p.rank_from is RankFrom.TASK else p for p in kept]
    shared = _shared(kept)
    kept = _of_nodes(kept, shared)
    by_name = rank_from_filename.ranks(piece.name for piece in kept if piece.name not in shared)
    owned = [_owned(_with_pid(piece), by_pid, by_name) for piece in kept]
    # a process whose rank a name tells may have other pieces whose names do not
    by_pid = {**_ranks_of_processes(owned), **by_pid}
    owned = [_owned(piece, by_pid, by_name) for piece in owned]
    owned = _data_workers(_by_order(_unnamed_exceptions(owned)))
    if not any(piece.rank is not None for piece in owned):
        owned = _as_found(owned)
    by_rank: dict[Rank, list[Piece]] = {}
    telling = {rank_from_filename.shape(piece.name) for piece in kept if not _silent(piece)}
    for piece in owned:
        if piece.rank is not None and (not _silent(piece) or rank_from_filename.shape(piece.name) in telling):
            by_rank.setdefault(piece.rank, []).append(piece)
    lost = tuple(piece for piece in owned if piece.rank is None)
    return Placed({rank: tuple(by_rank[rank]) for rank in sorted(by_rank)}, lost)


def _shared(pieces: Iterable[Piece]) -> frozenset[str]:
    """Files that several ranks wrote, a node's or the job's: their names are no rank's."""
    said: dict[str, set[Rank]] = {}
    in_groups: dict[str, set[int]] = {}
    for piece in pieces:
        if piece.rank is not None and piece.rank_from in (RankFrom.CONTENT, RankFrom.LOCAL):
            said.setdefault(piece.name, set()).add(piece.rank)
        elif isinstance(piece.payload, Timeout) and not piece.payload.group and piece.payload.rank_in_group is not None:
            in_groups.setdefault(piece.name, set()).add(piece.payload.rank_in_group)
    # beside a rank's own prefix these numbers are of the groups that it is in; without one they are all that there is
    return frozenset(n for every in (said, in_groups) for n, ranks in every.items() if len(ranks) > 1)


def _of_nodes(pieces: list[Piece], shared: frozenset[str]) -> list[Piece]:
    """Local ranks of several nodes' logs as ranks of the job, the nodes in the order in which their names count."""
    local: dict[str, set[Rank]] = {}
    for piece in pieces:
        if piece.rank is not None and piece.rank_from is RankFrom.LOCAL and piece.name in shared:
            local.setdefault(piece.name, set()).add(piece.rank)
    order = rank_from_filename.ranks(local)
    if len(local) < 2 or sorted(order.values()) != list(range(len(local))):
        return pieces
    each = max(max(ranks) for ranks in local.values()) + 1
    return [
        replace(piece, rank=Rank(order[piece.name] * each + piece.rank))
        if piece.rank is not None and piece.rank_from is RankFrom.LOCAL and piece.name in order
        else piece
        for piece in pieces
    ]


def _as_found(pieces: list[Piece]) -> list[Piece]:
    """Tracebacks and stacks that nothing gives a rank, each as one of its own, in their order."""
    whose: list[tuple[object, str]] = []
    found = []
    for piece in pieces:
        if isinstance(piece.payload, Raised) or (isinstance(piece.payload, Stacks) and piece.pid is None):
            key = (piece.payload.traceback if isinstance(piece.payload, Raised) else piece.payload, piece.name)
            if key not in whose:
                whose.append(key)
            if len(whose) <= _MOST_UNNAMED:
                piece = replace(piece, rank=Rank(whose.index(key)), rank_from=RankFrom.NOBODY)
        found.append(piece)
    return found


def _with_pid(piece: Piece) -> Piece:
    """Dumps are named by process; the number in a log's name is rather the job's."""
    if piece.pid is not None or not isinstance(piece.payload, Stacks | Recorder | ProcessState | Fatal):
        return piece
    return replace(piece, pid=rank_from_filename.pid(piece.name))


def _ranks_of_processes(pieces: Iterable[Piece]) -> dict[int, Rank]:
    """Process ids whose rank is known for certain; of communicators only the largest tells the rank in the job."""
    pieces = [piece for piece in pieces if piece.pid is not None and piece.rank is not None]
    largest = max((p.world_size or 0 for p in pieces if isinstance(p.payload, Mention)), default=0)
    found: dict[int, set[Rank]] = {}
    order = {RankFrom.CONTENT: 0, RankFrom.NAME: 1, RankFrom.LOCAL: 2}
    for piece in sorted(pieces, key=lambda p: order.get(p.rank_from or RankFrom.LOCAL, 3)):
        of_a_part = isinstance(piece.payload, Mention) and (piece.world_size or 0) < largest
        if piece.pid is None or piece.rank is None or of_a_part:
            continue
        if piece.rank_from is RankFrom.CONTENT or piece.pid not in found:
            found.setdefault(piece.pid, set()).add(piece.rank)
    return {pid: next(iter(ranks)) for pid, ranks in found.items() if len(ranks) == 1}


def _owned(piece: Piece, by_pid: Mapping[int, Rank], by_name: Mapping[str, Rank]) -> Piece:
    if piece.rank_from is RankFrom.CONTENT:
        return piece
    if piece.pid is not None and piece.pid in by_pid:
        rank = by_pid[piece.pid]
        return piece if piece.rank == rank else replace(piece, rank=rank, rank_from=RankFrom.PROCESS)
    if piece.rank is None and piece.name in by_name and not isinstance(piece.payload, Ended):
        return replace(piece, rank=by_name[piece.name], rank_from=RankFrom.NAME)
    if piece.rank is None and isinstance(piece.payload, Timeout) and piece.payload.rank_in_group is not None:
        return replace(piece, rank=Rank(piece.payload.rank_in_group), rank_from=RankFrom.CONTENT)
    return piece


def _unnamed_exceptions(pieces: list[Piece]) -> list[Piece]:
    """A traceback without a rank is the one worker's that failed with a status of its own, if there is one only."""
    raised = [piece for piece in pieces if isinstance(piece.payload, Raised) and piece.rank is None]
    known = {piece.rank for piece in pieces if isinstance(piece.payload, Raised)}
    native = len(raised) > 0 and not any(p.payload.frames for p in raised if isinstance(p.payload, Raised))
    ended = [piece for piece in pieces if isinstance(piece.payload, Ended) and piece.rank is not None]
    failed = {p.rank for p in ended if isinstance(p.payload, Ended) and _fits(p.payload.status, native=native)}
    if len(failed - known) != 1 or not raised or len({_kind(piece) for piece in raised}) != 1:
        return pieces
    (rank,) = failed - known
    return [
        replace(p, rank=rank, rank_from=RankFrom.PROCESS) if p is raised[0] else p
        for p in pieces
        if p not in raised[1:]
    ]


def _fits(status: int, *, native: bool) -> bool:
    """The interpreter leaves with a status of its own after an exception, native code aborts."""
    return status == ABORTED if native else status > 0


def _kind(piece: Piece) -> object:
    return (piece.payload.type, piece.payload.message) if isinstance(piece.payload, Raised) else None


def _by_order(pieces: list[Piece]) -> list[Piece]:
    """Stacks of which no rank is known at all: launchers start workers in the order of their ranks."""
    stacks = [p for p in pieces if isinstance(p.payload, Stacks) and who(p.payload) is Who.RANK]
    pids = sorted({piece.pid for piece in stacks if piece.pid is not None})
    known = any(piece.rank is not None and piece.pid is not None for piece in pieces)
    if known or any(piece.rank is not None or piece.pid is None for piece in stacks) or not pids:
        return pieces
    ranks = {pid: Rank(number) for number, pid in enumerate(pids)}
    return [
        replace(piece, rank=ranks[piece.pid], rank_from=RankFrom.ORDER) if piece.pid in ranks else piece
        for piece in pieces
    ]


def _data_workers(pieces: list[Piece]) -> list[Piece]:
    """A data worker of which nothing says whose it is belongs to the rank that waits for one, if only one does."""
    waiting = {
        piece.rank
        for piece in pieces
        if isinstance(piece.payload, Stacks) and piece.rank is not None and _waits_for_data(piece.payload)
    }
    if len(waiting) != 1:
        return pieces
    (rank,) = waiting
    lost = {p.pid for p in pieces if p.rank is None and isinstance(p.payload, Stacks) and who(p.payload) is Who.LOADER}
    return [
        replace(p, rank=rank, rank_from=RankFrom.PROCESS) if p.rank is None and p.pid in lost else p for p in pieces
    ]


def _waits_for_data(stacks: Stacks) -> bool:
    main = stacks.main()
    return main is not None and any("torch/utils/data/dataloader.py" in frame.file for frame in main.frames)
