"""Last collectives of all ranks compared: the same call at the same place with tensors that do not match."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile

from ddpdoctor.diagnose.digest import operations
from ddpdoctor.diagnose.digest.failure import failure_site
from ddpdoctor.diagnose.divergence import relative_position
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.collectives import Call
from ddpdoctor.model.diagnosis import Confidence, Outcome
from ddpdoctor.model.evidence import RankEvidence
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.stacks import Site


@dataclass(frozen=True, slots=True)
class Unequal:
    """One call that is the last of every rank, grouped by the tensors given to it."""

    call: Call
    #: elements and dtype of each rank's tensor
    given: Mapping[Rank, tuple[int, str]]
    #: the ranks that differ from most; empty if there is no majority
    odd: RankSet
    #: the highest confidence that this is the fault
    cap: Confidence

    @property
    def sizes(self) -> frozenset[int]:
        return frozenset(numel for numel, _ in self.given.values())

    @property
    def dtypes(self) -> frozenset[str]:
        return frozenset(dtype for _, dtype in self.given.values())


def last_call(facts: Facts) -> Unequal | None:
    """The last call of every rank, or that in which some wait and which the others have left, if the tensors given to
    it differ and that is what holds the ranks up.

    gloo ends the process if it gets more bytes than it expects; a rank that expects fewer returns, and those that
    expect more wait. NCCL hangs, or continues with garbage.
    """
    cap = _cap(facts)
    last = [call for rank in facts.evidence.ranks if (call := _last(rank))]
    if cap is None or facts.splits:
        return None
    found = (_unequal(facts, call, cap) for call in {_which(call): call for call in last}.values())
    return next(filter(None, found), None)


def _unequal(facts: Facts, call: Call, cap: Confidence) -> Unequal | None:
    """Each rank's newest call that is this one, if their tensors differ and no rank can have gone on from it as the
    others will."""
    calls = {rank.rank: own for rank in facts.evidence.ranks if (own := _newest(rank, call))}
    given = {rank: (own.numel, own.dtype) for rank, own in calls.items() if own.numel is not None and own.dtype}
    all_are_known = len(given) >= max(2, facts.evidence.world_size)
    if not all_are_known or len(set(given.values())) == 1 or not operations.equal_sizes(call.op):
        return None
    often = _as_often(facts, call)
    inside = RankSet.of(rank.rank for rank in facts.evidence.ranks if _last(rank) is calls[rank.rank])
    if len(inside) == len(calls) or (often and _are_apart(given, inside)):
        return Unequal(call, given, _odd(given), cap if often else Confidence.POSSIBLE)
    return None


def _which(call: Call) -> tuple[object, ...]:
    return call.site, call.op, call.group.name if call.group else "", call.root


def _newest(rank: RankEvidence, call: Call) -> Call | None:
    """The rank's newest call that is this one."""
    calls = (event.call for event in reversed(rank.page.events if rank.page else ()) if event.call)
    return next((one for one in calls if _which(one) == _which(call)), None)


def _are_apart(given: Mapping[Rank, tuple[int, str]], inside: RankSet) -> bool:
    """Whether those that are still in the call gave what none of those gave that have left it."""
    return not {given[rank] for rank in inside} & {what for rank, what in given.items() if rank not in inside}


def left_out(facts: Facts, found: Unequal) -> RankSet:
    """The ranks that seem to have made a call too few at this place, as a loop over parameters does which leaves some
    out: they give what came behind, in earlier rounds, what the others give now."""
    ahead = set()
    for rank in facts.evidence.ranks:
        *before, now = _sizes(rank, found.call) or [None]
        expected, following = _usual(before)
        if expected != now == following and found.sizes == {expected, following}:
            ahead.add(rank.rank)
    return RankSet.of(ahead)


def _sizes(rank: RankEvidence, call: Call) -> list[int | None]:
    """How many elements a rank has given to each call at this place, the newest at the end."""
    calls = (event.call for event in (rank.page.events if rank.page else ()) if event.call)
    return [one.numel for one in calls if _which(one) == _which(call)]


def _usual(sizes: list[int | None]) -> tuple[int | None, int | None]:
    """What came next, and behind that, where the sizes before were the same for longest; None if they never were."""
    end = len(sizes)
    alike = {at: _alike(sizes, at, end) for at in range(1, end - 1)}
    at = max(alike, key=lambda one: (alike[one], one), default=0)
    return (sizes[at], sizes[at + 1]) if alike.get(at) else (None, None)


def _alike(sizes: list[int | None], at: int, end: int) -> int:
    """How many sizes before two places are the same."""
    pairs = zip(reversed(sizes[:at]), reversed(sizes[:end]), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def called_from(facts: Facts, found: Unequal) -> Site | None:
    """The user's line that led to the call, from the stacks or a rank's last messages if a library made it."""
    site = found.call.site
    if site is None or not facts.is_library(site.file):
        return site
    for failure in facts.failures:
        place = failure_site(facts.rank(failure.rank), failure)
        if place is not None and not facts.is_library(place.file):
            return place
    return relative_position.users_line(facts, facts.waiting, site)


def _cap(facts: Facts) -> Confidence | None:
    """The highest confidence: a crash by gloo's own abort, or ranks that wait for one another with no rank absent."""
    if facts.outcome is Outcome.CRASH:
        own = [failure for failure in facts.failures if not failure.victim]
        return Confidence.LIKELY if not own or own[0].amid_mismatch else None
    if facts.outcome is Outcome.HANG and len(facts.waiting) == facts.evidence.world_size and not facts.graph.stuck:
        return Confidence.LIKELY
    return None


def _last(rank: RankEvidence) -> Call | None:
    """The newest collective of the history, if no event follows it."""
    events = rank.page.events if rank.page else ()
    return events[-1].call if events and events[-1].kind is EventKind.CALL else None


def _as_often(facts: Facts, call: Call) -> bool:
    """Whether all ranks made this call equally often: it is the same iteration on each, and no rank is one behind."""
    counts = set()
    for rank in facts.evidence.ranks:
        if rank.page is None or rank.page.events_lost:
            return False
        calls = [event.call for event in rank.page.events if event.call and not event.call.asynchronous]
        counts.add(sum(1 for one in calls if one.op == call.op and one.site == call.site))
    return len(counts) == 1


def _odd(given: Mapping[Rank, tuple[int, str]]) -> RankSet:
    by_what: dict[tuple[int, str], list[Rank]] = {}
    for rank, what in given.items():
        by_what.setdefault(what, []).append(rank)
    largest = max(map(len, by_what.values()))
    usual = [what for what, ranks in by_what.items() if len(ranks) == largest]
    if len(usual) != 1:
        return RankSet()
    return RankSet.of(rank for rank, what in given.items() if what != usual[0])
