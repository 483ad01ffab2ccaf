"""Pure. What a node tells first: what its ranks do, as their pages alone show it, ranks that do the same together."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import PurePath

from ddpdoctor.meeting.messages import Behaviour, Digest, Doing
from ddpdoctor.model.collectives import Call, Kind
from ddpdoctor.model.evidence import Evidence, RankEvidence
from ddpdoctor.model.progress import Page
from ddpdoctor.model.ranks import Group, Rank, RankSet

#: the newest events that tell ranks apart which have the same counts and the same call
HISTORY = 40


def digest(evidence: Evidence, node: Rank, still: float, *, stopped: RankSet, stops: bool) -> Digest:
    """Of the ranks of this node; `still`: seconds since any of them has moved, `stopped`: those that a signal has
    stopped."""
    alike: dict[Behaviour, list[Rank]] = {}
    for seen in evidence.ranks:
        doing = behaviour(seen)
        if seen.rank in stopped:
            doing = replace(doing, doing=Doing.STOPPED)
        alike.setdefault(doing, []).append(seen.rank)
    told = (
        Behaviour(str(RankSet.of(ranks)), b.doing, b.op, b.group, b.site, b.counts, b.history)
        for b, ranks in alike.items()
    )
    return Digest(node, round(still, 3), tuple(told), stops)


def behaviour(seen: RankEvidence) -> Behaviour:
    """What one rank does."""
    page = seen.page
    if page is None:
        return Behaviour("", _doing(seen, None))
    call = _blocking(page)
    group = _name(call.group) if call and call.group else ""
    site = f"{PurePath(call.site.file).name}:{call.site.line}" if call and call.site else ""
    counts = page.counters
    counted = (counts.delivered, counts.stops, counts.forwards, counts.backward_entered, counts.optimizer_steps)
    return Behaviour("", _doing(seen, call), call.op if call else "", group[:80], site[-80:], counted, _history(page))


def _name(group: Group) -> str:
    """What ranks of different groups with one purpose have in common: torch names each of them differently."""
    named = group.description not in ("", "undefined")
    return group.description if named else f"{len(group.members)} ranks"


def _doing(seen: RankEvidence, call: Call | None) -> Doing:
    if seen.exit is not None:
        return Doing.ENDED
    if seen.page is None:
        return Doing.UNKNOWN
    return Doing.BUSY if call is None else Doing.WAITING


def _blocking(page: Page) -> Call | None:
    """The newest call in flight that blocks its thread."""
    calls = [call for call in page.calls if not call.asynchronous or call.kind is Kind.WAIT]
    return max(calls, key=lambda call: call.since, default=None)


def _history(page: Page) -> str:
    """Of the newest events, without what differs between ranks that do the same: times, threads, peers."""
    steps = ((event.kind.value, event.site, event.call.op if event.call else "") for event in page.events[-HISTORY:])
    return hashlib.blake2b(repr(tuple(steps)).encode(), digest_size=6).hexdigest()
