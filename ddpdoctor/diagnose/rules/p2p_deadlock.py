"""# DD218 p2p-deadlock

## What
Ranks wait for each other in send and recv: all receive first, or all send first; or one rank receives once more than
its peer sends; or the tags of a send and of its receive differ.

## Why it hangs
A recv returns when its sender sends, but the sender is itself in a recv. No rank of the cycle ever sends. If all ranks
send first, each waits to be received: with gloo however small the message is (16 bytes, torch 2.13).

## Example
    dist.recv(halo, src=left)
    dist.send(edge, dst=right)         # never reached

## Fix
Let even ranks send first and odd ranks receive first, or use `isend`, or `batch_isend_irecv` for the whole exchange.

## When it is wrong
A send and a receive of the same message are no deadlock: it may be under way. A cycle is `certain` only if all ranks
are at one line on the same way, and no receive of it has returned before: a line that worked in earlier rounds is not
wrong by itself, and a rank that left the order of its rounds is blamed instead. A receive whose sender waits in a
collective can have any cause. It is reported only if the two ranks have issued different numbers of messages (since
their last collective, where the histories have lost their beginnings) and nothing else shows that the ranks diverged;
then it is `likely`.

## References
https://github.com/NVIDIA/nccl/issues/479 https://github.com/pytorch/pytorch/issues/172668
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import P2P_DEADLOCK
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest.rank_state import wait_label
from ddpdoctor.diagnose.digest.waits import Wait
from ddpdoctor.diagnose.divergence import control_flow_diff
from ddpdoctor.diagnose.divergence.branch_points import BranchKind
from ddpdoctor.diagnose.divergence.divergences import divergences
from ddpdoctor.diagnose.divergence.habits import Strayed, left_usual_round, strayed_alone
from ddpdoctor.diagnose.divergence.patterns import Pattern
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.collectives import COLLECTIVE, Kind
from ddpdoctor.model.diagnosis import Confidence, Diagnosis, Location
from ddpdoctor.model.ranks import Rank, RankSet


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    apart = _tags_apart(facts)
    if apart is not None:
        yield _of_tags(facts, *apart)
        return
    circle = _circle(facts)
    # if others have left their order as well, the program began another phase, and its schedule is wrong
    left = strayed_alone(facts, facts.waiting)
    if left is not None and left[0] not in {wait.rank for wait in circle}:
        left = None
    if left is not None and left[1].skipped and not left[1].again:
        return
    if circle:
        yield _diagnosis(facts, circle, left)
    told = divergences(facts)
    if circle or any(one.pattern is not Pattern.UNCLEAR for one in told) or (facts.splits and not told):
        return
    for rank in facts.waiting:
        wait = facts.wait(rank)
        missed = _unmatched(facts, wait) if wait and wait.kind in (Kind.SEND, Kind.RECV) else None
        if wait and missed:
            yield _missing(facts, wait, missed)


def _tags_apart(facts: Facts) -> tuple[Wait, Wait] | None:
    """A send and a receive that ranks wait in for each other, with tags that are known and differ."""
    waits = [wait for rank in facts.waiting if (wait := facts.wait(rank)) is not None and wait.tag is not None]
    for sends in (wait for wait in waits if wait.kind is Kind.SEND):
        for receives in (wait for wait in waits if wait.kind is Kind.RECV and wait.peer == sends.rank):
            if sends.peer == receives.rank and sends.tag != receives.tag:
                return sends, receives
    return None


def _of_tags(facts: Facts, sends: Wait, receives: Wait) -> Diagnosis:
    tags = {rank: wait.tag for rank in facts.waiting if (wait := facts.wait(rank)) and wait.tag is not None}
    usual, number = Counter(tags.values()).most_common(1)[0]
    pair = RankSet.of([sends.rank, receives.rank])
    odd = RankSet.of(rank for rank in pair if tags.get(rank) != usual) if 2 * number > len(tags) > 2 else RankSet()
    links = (
        f"rank {sends.rank} sends to rank {receives.rank} with tag {sends.tag} at {wording.place(sends.site)}",
        f"rank {receives.rank} receives from rank {sends.rank} with tag {receives.tag} at "
        f"{wording.place(receives.site)}",
    )
    return diagnosis(
        P2P_DEADLOCK,
        facts.waiting,
        confidence=Confidence.LIKELY,
        blame=Confidence.LIKELY if odd else Confidence.POSSIBLE,
        culprits=odd,
        summary="; ".join(links),
        why="A message is taken only by a receive with its tag, so that neither of them returns.",
        fix="Let both sides change the tag at the same message, or count with something that both of them know.",
        locations=(*facts.locations_of(odd), *facts.locations_of(pair - odd)),
        evidence=links,
    )


@dataclass(frozen=True, slots=True)
class _Unmatched:
    """A send or receive whose counterpart the peer has not issued, although it is elsewhere and cannot reach it."""

    peer: Rank
    #: how often each side has issued its part, including the one in progress
    ours: int
    theirs: int
    #: since both were in a collective last
    lately: bool = False


def _unmatched(facts: Facts, wait: Wait) -> _Unmatched | None:
    peer = wait.peer
    other = facts.wait(peer) if peer is not None else None
    if peer is None or other is None or other.kind in (Kind.SEND, Kind.RECV) or wait.rank not in facts.graph.stuck:
        return None
    ours, theirs = _issued(facts, wait.rank, peer), _issued(facts, peer, wait.rank)
    lately = ours is None or theirs is None
    if lately and other.group is not None and wait.rank in other.group.members:
        ours, theirs = _issued_lately(facts, wait.rank, peer, 0), _issued_lately(facts, peer, wait.rank, 1)
    if ours is None or theirs is None:
        return None
    counterpart = Kind.SEND if wait.kind is Kind.RECV else Kind.RECV
    if not 0 < theirs[counterpart] < ours[wait.kind]:
        return None  # a peer that has never taken part may be in another part of the program for any reason
    return _Unmatched(peer, ours[wait.kind], theirs[counterpart], lately)


def _issued(facts: Facts, rank: Rank, peer: Rank) -> Counter[Kind] | None:
    """How often the rank has sent to the peer and received from it; None where its history has lost some."""
    seen = facts.evidence.rank(rank)
    if seen is None or seen.page is None or seen.page.events_lost:
        return None
    calls = [event.call for event in seen.page.events if event.call]
    if any(call.kind is Kind.RECV and call.peer is None for call in calls):
        return None  # from any source: the sender is not known
    return Counter(call.kind for call in calls if call.peer == peer)


def _issued_lately(facts: Facts, rank: Rank, peer: Rank, later: int) -> Counter[Kind] | None:
    """The same since the last collective of both, `later` ones of them left out; None where the history does not reach
    so far."""
    seen = facts.evidence.rank(rank)
    calls = [event.call for event in (seen.page.events if seen and seen.page else ()) if event.call]
    found: Counter[Kind] = Counter()
    for call in reversed(calls):
        if call.kind is Kind.RECV and call.peer is None:
            return None
        if call.kind in COLLECTIVE and call.group is not None and {rank, peer} <= set(call.group.members):
            later -= 1
            if later < 0:
                return found
        elif call.peer == peer:
            found[call.kind] += 1
    return None


def _missing(facts: Facts, wait: Wait, found: _Unmatched) -> Diagnosis:
    pair = RankSet.of([wait.rank, found.peer])
    skipped = _others_sent_more(facts, wait, found)
    unusual = left_usual_round(facts, pair)
    culprits = RankSet.of([unusual[0]]) if unusual is not None else _by_the_others(facts, wait, found)
    what, answer = ("receives", "sent") if wait.kind is Kind.RECV else ("sends", "received")
    return diagnosis(
        P2P_DEADLOCK,
        facts.waiting,
        confidence=Confidence.LIKELY,
        blame=Confidence.LIKELY if culprits else Confidence.POSSIBLE,
        culprits=culprits,
        summary=(
            f"rank {wait.rank} {what} for the {_nth(found.ours)} time {'from' if what == 'receives' else 'to'} rank "
            f"{found.peer}{' since their last collective' if found.lately else ''}, which has {answer} {found.theirs} "
            f"time{'' if found.theirs == 1 else 's'} and is in "
            f"{wording.waiting(facts, RankSet.of([found.peer]))}"
        ),
        why=(
            f"Rank {found.peer} waits in an operation that rank {wait.rank} has to join, and cannot reach its part "
            f"of this one: the two do not agree on how often they {'exchange' if skipped else 'meet'}."
        ),
        fix=(
            f"Let both sides expect the same number of messages at {wording.place(wait.site)}: agree on their "
            "number before, and skip on neither side alone."
        ),
        locations=(
            # one that asks for too much stands at the line itself
            *(_parted(facts, *unusual) if unusual is not None and found.peer in culprits else ()),
            *facts.locations_of(culprits),
            *facts.locations_of(pair - culprits),
        ),
        evidence=(
            *([_unlike_most(*unusual)] if unusual is not None else []),
            *(["counted since the last collective of both: the histories have lost what was before"] * found.lately),
            f"rank {wait.rank}: {found.ours} issued with rank {found.peer}",
            f"rank {found.peer}: {found.theirs} answered",
        ),
    )


def _by_the_others(facts: Facts, wait: Wait, found: _Unmatched) -> RankSet:
    """Which of the two the other ranks speak against, nobody if they do not."""
    if _others_sent_more(facts, wait, found) or _all_after(facts, wait, found.peer):
        return RankSet.of([found.peer])
    return RankSet.of([wait.rank] if _alone(facts, wait) else [])


def _parted(facts: Facts, rank: Rank, found: Strayed) -> Iterator[Location]:
    """Where it left its usual round: the condition, if the source shows one alone, else the message that it left
    out."""
    points = control_flow_diff.against_itself(facts, rank, found.before, found.now, found.usual)
    one = points[0] if len(points) == 1 and points[0].kind is BranchKind.CONDITION else None
    site = one.place if one is not None else found.usual.site
    if site is not None:
        yield facts.location([rank], site)


def _unlike_most(rank: Rank, found: Strayed) -> str:
    return f"rank {rank} did not come to {wording.step(found.usual)} in its last round, as in most rounds before"


def _others_sent_more(facts: Facts, wait: Wait, found: _Unmatched) -> bool:
    """All others that ever answered this one have done so as often as it asks: in the same role the peer has skipped
    one. Where ranks exchange with partners of chance their numbers differ, and say nothing."""
    counterpart = Kind.SEND if wait.kind is Kind.RECV else Kind.RECV
    counts = [
        issued[counterpart]
        for seen in facts.evidence.ranks
        if seen.rank not in (wait.rank, found.peer) and (issued := _issued(facts, seen.rank, wait.rank))
    ]
    # one that goes on may be a message further
    return any(counts) and all(count in (found.ours, found.ours + 1) for count in counts if count)


def _all_after(facts: Facts, wait: Wait, peer: Rank) -> bool:
    """Whether all further ranks, one at least, wait for a message along a chain that leads to this wait: they agree
    that the peer has gone on too early."""
    rest = {Rank(rank) for rank in range(facts.evidence.world_size)} - {wait.rank, peer}
    reached = {wait.rank}
    while more := {rank for rank in rest - reached if (one := facts.wait(rank)) and one.peer in reached}:
        reached |= more
    return bool(rest) and rest <= reached


def _alone(facts: Facts, wait: Wait) -> bool:
    """Whether all other ranks, more than one, wait for this one: together in an operation that it has to join and that
    some may have left, or for a message of its own. They agree on who meets whom and how often, and it asks one that
    has had its turn."""
    others = [facts.wait(Rank(rank)) for rank in range(facts.evidence.world_size) if rank != wait.rank]
    asked = facts.wait(wait.peer) if wait.peer is not None else None
    passed = [one.rank for one in facts.evidence.ranks if asked is not None and _has_left(facts, one.rank, asked)]
    apart = [other for other in others if other is None or other.peer != wait.rank]
    apart = [asked if other is not None and other.rank in passed else other for other in apart]
    together = {(other.group, other.op, other.seq) if other and other.kind in COLLECTIVE else None for other in apart}
    return len(apart) > 1 and len(together) == 1 and None not in together


def _has_left(facts: Facts, rank: Rank, operation: Wait) -> bool:
    """Whether the rank is done with the operation in which another waits: it is in none, and has issued that one."""
    own, recorder = facts.wait(rank), facts.rank(rank).recorder
    if own is None or own.kind in COLLECTIVE or recorder is None or operation.group is None or operation.seq is None:
        return False
    name = operation.group.name
    return any(
        one.group == name and not one.p2p and one.seq == operation.seq and one.retired for one in recorder.entries
    )


def _nth(number: int) -> str:
    ends = {1: "st", 2: "nd", 3: "rd"}
    return f"{number}{'th' if 10 < number % 100 < 14 else ends.get(number % 10, 'th')}"


def _circle(facts: Facts) -> tuple[Wait, ...]:
    """Waits of main threads, each for the rank of the next and the last for the first."""
    pairs = {
        rank: wait
        for rank in facts.waiting
        if (wait := facts.wait(rank)) and wait.kind in (Kind.SEND, Kind.RECV) and wait.peer is not None
    }
    # whose peer is in its part of the same message is in no cycle: that message may be under way
    meeting = {rank for rank, wait in pairs.items() if (peer := pairs.get(wait.peer or Rank(0))) and wait.meets(peer)}
    for start in sorted(pairs):
        path: list[Rank] = []
        rank: Rank | None = start
        while rank is not None and rank in pairs and rank not in path and rank not in meeting:
            path.append(rank)
            rank = pairs[rank].peer
        if path and rank == start:
            return tuple(pairs[member] for member in path)
    return ()


def _diagnosis(facts: Facts, circle: tuple[Wait, ...], left: tuple[Rank, Strayed] | None) -> Diagnosis:
    members = RankSet.of(wait.rank for wait in circle)
    kind = "receive" if all(wait.kind is Kind.RECV for wait in circle) else "send and receive"
    if all(wait.kind is Kind.SEND for wait in circle):
        kind = "send"
    links = tuple(f"rank {wait.rank} waits in {wait_label(wait)} at {wording.place(wait.site)}" for wait in circle)
    summary = f"{wording.ranks(members)} {kind} in a cycle: {'; '.join(links[:3])}{'; ...' if len(links) > 3 else ''}"
    if left is not None:
        return _left_order(facts, members, *left, summary)
    proven = all(rank in facts.graph.stuck for rank in members)
    return diagnosis(
        P2P_DEADLOCK,
        facts.waiting,
        confidence=Confidence.CERTAIN if _by_one_line(facts, circle) and proven else Confidence.LIKELY,
        blame=Confidence.POSSIBLE,
        summary=summary,
        why="Each waits for the next one's send or recv, which comes only after its own returns.",
        fix="Let one rank of each pair send first and the other receive first, or use isend or batch_isend_irecv.",
        locations=facts.locations_of(members),
        evidence=links,
    )


def _by_one_line(facts: Facts, circle: tuple[Wait, ...]) -> bool:
    """Whether the line itself is wrong: all are at it, on the same way, and no receive of it has ever returned.

    Otherwise a rank may have reached its line by another mistake: a helper that all stages of a pipeline call is one
    line, too, and a line that has worked in earlier rounds is not wrong by itself.
    """
    ways = {(wait.kind, wait.site, facts.stack(wait.rank)) for wait in circle}
    return len(ways) == 1 and not any(wait.kind is Kind.RECV and _returned_before(facts, wait) for wait in circle)


def _returned_before(facts: Facts, wait: Wait) -> bool:
    """Whether this receive has returned before; also if history was lost."""
    seen = facts.evidence.rank(wait.rank)
    page = seen.page if seen else None
    if page is None or page.events_lost:
        return True
    calls = [event.call for event in page.events if event.call and event.site == wait.site]
    return sum(call.kind is wait.kind and call.peer == wait.peer for call in calls) > 1


def _left_order(facts: Facts, members: RankSet, rank: Rank, found: Strayed, summary: str) -> Diagnosis:
    """Only one rank of the cycle does not do what it did in its earlier rounds."""
    culprit = RankSet.of([rank])
    points = control_flow_diff.against_itself(facts, rank, found.before, found.now, found.usual)
    return diagnosis(
        P2P_DEADLOCK,
        facts.waiting,
        confidence=Confidence.LIKELY,
        blame=Confidence.LIKELY,
        culprits=culprit,
        summary=f"{summary}; only rank {rank} left the order of its earlier rounds",
        why=(
            f"Rank {rank} is in {wording.waiting(facts, culprit)} where its earlier rounds went on with "
            f"{wording.step(found.usual)}; the others are where they always were, and wait for that."
        ),
        fix=(
            "Let both sides expect the same number of messages: agree on the number of micro-batches, and skip on "
            "neither side alone."
        ),
        locations=(*(facts.location(culprit, point.place) for point in points), *facts.locations_of(members)),
        evidence=tuple(
            f"`{point.text}` at {wording.place(point.site)} is where rank {rank} left that order" for point in points
        ),
    )
