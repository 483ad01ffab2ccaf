"""Pure. Waits that are known only from logs: rendezvous, monitored barriers, the watchdog of old torch versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ddpdoctor.archive.fragment import CollectiveTimeout, Fragment, MissingPeers, RankMention, StuckWatchdog
from ddpdoctor.model.collectives import Kind, ReportedWait
from ddpdoctor.model.ranks import Rank, RankSet

ByRank = Mapping[Rank, tuple[Fragment, ...]]

#: the operation of a rank that waits for peers to arrive, when it is not known for which
_UNKNOWN_PEERS = "store_based_barrier"
#: warnings that a report repeats, those of most ranks first
_MOST_WARNINGS = 4
#: the operation of a rank whose watchdog thread is blocked as well
_NATIVE = "a call of CUDA or NCCL"


def reported_waits(by_rank: ByRank, world: int) -> dict[Rank, tuple[ReportedWait, ...]]:
    """The waits that each rank's log reports."""
    found: dict[Rank, list[ReportedWait]] = {}
    for rank, wait in _waits_at_keys(by_rank, world):
        found.setdefault(rank, []).append(wait)
    for rank, fragments in by_rank.items():
        found.setdefault(rank, []).extend(_own_waits(fragments))
    return {rank: tuple(dict.fromkeys(waits)) for rank, waits in found.items() if waits}


def _waits_at_keys(by_rank: ByRank, world: int) -> Iterator[tuple[Rank, ReportedWait]]:
    """Ranks that wait until all have come to a key of the store; the key counts who has."""
    for key in sorted({missing.key for missing in _missing(by_rank) if missing.key}):
        last = {rank: here[-1] for rank, fragments in by_rank.items() if (here := _at(fragments, key))}
        arrived = max(missing.arrived or 0 for missing in last.values())
        absent = RankSet.of(range(world)) - RankSet.of(last)
        known = len(last) == arrived and arrived + len(absent) == world
        for rank in last if arrived < world else ():
            op = "init_process_group" if known else _UNKNOWN_PEERS
            yield rank, ReportedWait(op, Kind.ALL, absent.members if known else ())


def _own_waits(fragments: tuple[Fragment, ...]) -> Iterator[ReportedWait]:
    """What the log of one rank says by itself: a barrier's missing ranks, collectives over time, a blocked watchdog."""
    for missing in _of(fragments):
        if not missing.key:
            yield ReportedWait(missing.op, Kind.ALL, missing.named)
    payloads = [fragment.payload for fragment in fragments]
    for payload in payloads:
        if isinstance(payload, CollectiveTimeout) and payload.op:
            yield ReportedWait(payload.op, Kind.ALL, seq=payload.seq)
    if any(isinstance(payload, StuckWatchdog) for payload in payloads):
        yield ReportedWait(_NATIVE, Kind.ALL)


def notes(by_rank: ByRank) -> Iterator[str]:
    """What a rendezvous reports beyond any wait, and the warnings of NCCL and others."""
    yield from _surplus_processes(by_rank)
    yield from _blocked_watchdogs(by_rank)
    yield from _warnings(by_rank)


def _surplus_processes(by_rank: ByRank) -> Iterator[str]:
    surplus = {
        (missing.arrived, fragment.world_size, missing.key)
        for fragments in by_rank.values()
        for fragment in fragments
        if isinstance(missing := fragment.payload, MissingPeers)
        and (missing.arrived or 0) > (fragment.world_size or 1 << 30)
    }
    for arrived, size, key in sorted(surplus, key=str):
        yield (
            f"{arrived} processes joined {key} of a job of {size}: a second job uses the same address, or a restart "
            "found the old store"
        )


def _blocked_watchdogs(by_rank: ByRank) -> Iterator[str]:
    stuck = {
        rank: p.payload
        for rank, fragments in by_rank.items()
        for p in fragments
        if isinstance(p.payload, StuckWatchdog)
    }
    if stuck:
        still = RankSet.of(stuck)
        longest = max((said.seconds or 0 for said in stuck.values()), default=0)
        yield (
            f"the NCCL watchdog of rank{'s' if len(still) > 1 else ''} {still} was blocked"
            f"{f' for {longest} s' if longest else ''}: a call of CUDA or NCCL does not return, or a thread "
            "that waits in such a call holds the GIL"
        )


def _warnings(by_rank: ByRank) -> Iterator[str]:
    warnings: dict[tuple[str, str], set[Rank]] = {}
    for rank, fragments in by_rank.items():
        for fragment in fragments:
            if isinstance(fragment.payload, RankMention) and fragment.payload.warning:
                warnings.setdefault((fragment.payload.by, fragment.payload.warning), set()).add(rank)
    for (who, text), ranks in sorted(warnings.items(), key=lambda item: (-len(item[1]), item[0]))[:_MOST_WARNINGS]:
        yield f"{who} on rank{'s' if len(ranks) > 1 else ''} {RankSet.of(ranks)}: {text}"


def _missing(by_rank: ByRank) -> Iterator[MissingPeers]:
    for fragments in by_rank.values():
        yield from _of(fragments)


def _of(fragments: tuple[Fragment, ...]) -> list[MissingPeers]:
    return [fragment.payload for fragment in fragments if isinstance(fragment.payload, MissingPeers)]


def _at(fragments: tuple[Fragment, ...], key: str) -> list[MissingPeers]:
    return [missing for missing in _of(fragments) if missing.key == key]
