"""Pure. One meeting of a job's watchers, from the first that wants it to the verdict that all have.

Whoever sets the episode's key first leads it. Every node leaves a digest; the leader waits for them, calls for the
parts of some ranks, judges, and leaves the verdict. Nobody waits longer than the deadlines here: a node that does not
come is named, and if it is the leader, the next episode has another.

`advance` is all there is: a state and an event give the next state and what to do about it. Whoever runs it answers
every action but the last of an episode, Conclude, with one event.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from ddpdoctor.meeting.messages import Absent, Call, Digest, Doing, Entry, Opening, Why
from ddpdoctor.model.ranks import Rank, RankSet

#: seconds for which the leader waits for digests and for parts; looking twice takes one and a half of the latter
DIGESTS, PARTS = 3.0, 6.0
#: how often the leader reads the list of watchers again while one is still to come, and seconds in between
AGAIN, PAUSE = 8, 0.25
#: seconds for which others wait for the leader: as long as it waits itself, and what it does in between
CALL, VERDICT = DIGESTS + AGAIN * PAUSE + 2.0, PARTS + 6.0
#: seconds of movement before which a node counts as moving
MOVING = 2.0
#: ranks of which everything is asked for
MOST_RANKS = 16
#: why ranks are absent that may not have begun yet
UNSEEN = "no watcher sees them"
#: behaviours that are told apart
MOST_CLASSES = 8
#: ranks of one behaviour of which everything is asked for
OF_ONE_KIND = 2

_NOBODY = RankSet()


class Phase(Enum):
    IDLE = "idle"
    CLAIMING = "claiming"
    #: of the leader
    COUNTING = "reading the list of watchers"
    GATHERING = "gathering digests"
    EXCUSING = "asking whether absent ranks are watched at all"
    COLLECTING = "gathering parts"
    JUDGING = "judging"
    #: of all others
    LISTENING = "waiting for the call"
    AWAITING = "waiting for the verdict"


@dataclass(frozen=True, slots=True)
class State:
    """What one watcher knows of the episode."""

    me: Rank
    world_size: int
    #: of the episode that goes on, or that will be next
    number: int = 1
    phase: Phase = Phase.IDLE
    opening: Opening | None = None
    entries: Mapping[Rank, Entry] = field(default_factory=dict)
    digests: Mapping[Rank, Digest] = field(default_factory=dict)
    absent: tuple[Absent, ...] = ()
    #: how often the list of watchers was read again
    again: int = 0
    wanted: RankSet = _NOBODY

    @property
    def leads(self) -> bool:
        return self.opening is not None and self.opening.leader == self.me


# what happens


@dataclass(frozen=True, slots=True)
class Wanted:
    """This node wants to meet."""

    why: Why


@dataclass(frozen=True, slots=True)
class Opened:
    """Somebody leads the episode: this node, because it was the first, or another."""

    opening: Opening


@dataclass(frozen=True, slots=True)
class Listed:
    entries: Mapping[Rank, Entry]


@dataclass(frozen=True, slots=True)
class Digested:
    digests: Mapping[Rank, Digest]


@dataclass(frozen=True, slots=True)
class Excused:
    """Of the absent ranks, those whose probe has said that they are watched."""

    watched: RankSet


@dataclass(frozen=True, slots=True)
class Called:
    """None if the leader did not call in time."""

    call: Call | None


@dataclass(frozen=True, slots=True)
class Collected:
    parts: Mapping[Rank, bytes]


@dataclass(frozen=True, slots=True)
class Judged:
    verdict: bytes


@dataclass(frozen=True, slots=True)
class Told:
    """None if the leader did not tell in time."""

    verdict: bytes | None


@dataclass(frozen=True, slots=True)
class Cut:
    """The board is out of reach."""

    reason: str


Event = Wanted | Opened | Listed | Digested | Excused | Called | Collected | Judged | Told | Cut


# what to do about it


class Do(Enum):
    """Actions that need nothing but the state."""

    READ_LIST = "read the list of watchers"
    READ_AGAIN = "read the list of watchers a moment later"
    GATHER_DIGESTS = "wait for the digests of all who are on it"
    ASK_PROBES = "ask whether absent ranks are watched"
    AWAIT_CALL = "wait for the call"
    COLLECT = "wait for the parts of the ranks that are wanted"
    AWAIT_VERDICT = "wait for the verdict"


@dataclass(frozen=True, slots=True)
class Claim:
    opening: Opening


@dataclass(frozen=True, slots=True)
class LeaveDigest:
    why: Why


@dataclass(frozen=True, slots=True)
class LeaveCall:
    call: Call


@dataclass(frozen=True, slots=True)
class LeaveParts:
    """Of these ranks, as far as they are here."""

    ranks: RankSet


@dataclass(frozen=True, slots=True)
class Judge:
    parts: Mapping[Rank, bytes]
    absent: tuple[Absent, ...]


@dataclass(frozen=True, slots=True)
class LeaveVerdict:
    verdict: bytes


@dataclass(frozen=True, slots=True)
class Conclude:
    """The episode is over here; without a verdict because of `over`."""

    why: Why
    verdict: bytes | None = None
    absent: tuple[Absent, ...] = ()
    over: str = ""
    #: whoever led it does not answer: another can lead the next
    leaderless: bool = False
    #: the board is lost: there will be no episode on it
    cut: bool = False


Action = Do | Claim | LeaveDigest | LeaveCall | LeaveParts | Judge | LeaveVerdict | Conclude
Step = tuple[State, tuple[Action, ...]]


def advance(state: State, event: Event) -> Step:
    """The next state and what to do. An event that does not fit the phase changes nothing."""
    if isinstance(event, Cut):
        why = state.opening.why if state.opening else Why.STILL
        return _rested(state), (Conclude(why, over=event.reason, cut=True),)
    step = _lead(state, event) if state.leads else _follow(state, event)
    return step or (state, ())


def _lead(state: State, event: Event) -> Step | None:
    match state.phase, event:
        case Phase.COUNTING, Listed():
            return _listed(state, event)
        case Phase.GATHERING, Digested():
            return _digested(state, event)
        case Phase.EXCUSING, Excused():
            return _excused(state, event)
        case Phase.COLLECTING, Collected():
            return _collected(state, event)
        case Phase.JUDGING, Judged():
            return _judged(state, event)
    return None


def _follow(state: State, event: Event) -> Step | None:
    match state.phase, event:
        case Phase.IDLE, Wanted():
            return _claim(state, event)
        case ((Phase.IDLE | Phase.CLAIMING), Opened()):
            return _begin(state, event)
        case Phase.LISTENING, Called():
            return _called(state, event)
        case Phase.AWAITING, Told():
            return _told(state, event)
    return None


def _claim(state: State, event: Wanted) -> Step:
    return replace(state, phase=Phase.CLAIMING), (Claim(Opening(state.me, event.why)),)


def _begin(state: State, event: Opened) -> Step:
    state = replace(state, opening=event.opening)
    if state.leads:
        return replace(state, phase=Phase.COUNTING), (LeaveDigest(event.opening.why), Do.READ_LIST)
    return replace(state, phase=Phase.LISTENING), (LeaveDigest(event.opening.why), Do.AWAIT_CALL)


def _listed(state: State, event: Listed) -> Step:
    state = replace(state, entries=event.entries)
    if uncovered(state):
        return replace(state, phase=Phase.EXCUSING), (Do.ASK_PROBES,)
    return replace(state, phase=Phase.GATHERING), (Do.GATHER_DIGESTS,)


def _excused(state: State, event: Excused) -> Step:
    """Watchers of a job that has just begun may be on their way."""
    missing = uncovered(state)
    watched = RankSet.of(rank for rank in missing if rank in event.watched)
    if watched and state.again < AGAIN:
        return replace(state, phase=Phase.COUNTING, again=state.again + 1), (Do.READ_AGAIN,)
    reasons = ((watched, "their watcher does not reach the job's store"), (missing - watched, UNSEEN))
    absent = tuple(Absent(str(ranks), "", reason) for ranks, reason in reasons if ranks)
    return replace(state, phase=Phase.GATHERING, absent=absent), (Do.GATHER_DIGESTS,)


def _digested(state: State, event: Digested) -> Step:
    silent = (entry for node, entry in sorted(state.entries.items()) if node not in event.digests)
    absent = (Absent(entry.ranks, entry.host, "does not answer") for entry in silent)
    return _call(replace(state, digests=event.digests, absent=(*state.absent, *absent)))


def uncovered(state: State) -> RankSet:
    """The ranks that no watcher on the list sees."""
    seen: set[Rank] = set()
    for entry in state.entries.values():
        seen.update(entry.members)
    return RankSet.of(rank for rank in range(state.world_size) if rank not in seen)


def _call(state: State) -> Step:
    assert state.opening is not None
    over = _needless(state.opening.why, state)
    ranks = RankSet() if over else representatives(state.digests)
    call = Call(str(ranks), state.absent, over)
    if over:
        return _rested(state), (LeaveCall(call), Conclude(state.opening.why, None, state.absent, over))
    state = replace(state, phase=Phase.COLLECTING, wanted=ranks)
    return state, (LeaveCall(call), LeaveParts(ranks), Do.COLLECT)


def _needless(why: Why, state: State) -> str:
    """Why no proof can come of this episode; "" if one may, or if a verdict is wanted whatever it is."""
    if why is not Why.STILL:
        return ""
    if any(digest.still < MOVING for digest in state.digests.values()):
        return "some ranks move"
    if state.absent:
        return "not all ranks are seen"
    busy = any(one.doing is Doing.BUSY for digest in state.digests.values() for one in digest.behaviours)
    return "some ranks are at work" if busy and not _someone_stopped(state) else ""


def _someone_stopped(state: State) -> bool:
    return any(one.doing is Doing.STOPPED for digest in state.digests.values() for one in digest.behaviours)


def representatives(digests: Mapping[Rank, Digest], most: int = MOST_RANKS) -> RankSet:
    """The ranks of which everything is asked for: all of a small job; of a large one some of every behaviour.

    Of the rare ones two each as long as there is room, and one of each before the second of any. If one behaviour is
    that of the majority, more of it than of all others together: who is odd is decided by number.
    """
    alike = classes(digests)
    if sum(map(len, alike)) <= most:
        return RankSet.of(rank for members in alike for rank in members)
    *rare, common = alike
    outnumbers = len(common) > sum(map(len, rare))
    room = (most - 1) // 2 if outnumbers else most - OF_ONE_KIND
    turns = [members.members[turn] for turn in range(OF_ONE_KIND) for members in rare if len(members) > turn]
    chosen = turns[:room]
    number = max(OF_ONE_KIND, len(chosen) + 1) if outnumbers else OF_ONE_KIND
    return RankSet.of([*chosen, *common.members[:number]])


def classes(digests: Mapping[Rank, Digest]) -> tuple[RankSet, ...]:
    """The ranks of all nodes by what they do, the fewest first.

    In a large job some ranks are a step ahead of others that do the same. If there are more behaviours than can be
    looked into, the finer differences are left out: first what was done before, then how often.
    """
    for fineness in ("history", "counts", ""):
        alike = _classes(digests, fineness)
        if len(alike) <= MOST_CLASSES:
            break
    return alike


def _classes(digests: Mapping[Rank, Digest], fineness: str) -> tuple[RankSet, ...]:
    found: dict[tuple[object, ...], list[int]] = {}
    for digest in digests.values():
        for one in digest.behaviours:
            known = (one.counts if fineness else (), one.history if fineness == "history" else "")
            found.setdefault((one.doing, one.op, one.group, one.site, *known), []).extend(RankSet.parse(one.ranks))
    return tuple(sorted(map(RankSet.of, found.values()), key=lambda members: (len(members), members.members)))


def _collected(state: State, event: Collected) -> Step:
    silent = (
        Absent(entry.ranks, entry.host, "did not send what its ranks do")
        for node, entry in sorted(state.entries.items())
        if node in state.digests and node not in event.parts and is_asked(state.wanted, entry)
    )
    state = replace(state, phase=Phase.JUDGING, absent=(*state.absent, *silent))
    return state, (Judge(event.parts, state.absent),)


def is_asked(wanted: RankSet, entry: Entry) -> bool:
    """Whether some of these ranks are that node's."""
    return any(rank in wanted for rank in entry.members)


def _judged(state: State, event: Judged) -> Step:
    assert state.opening is not None
    end = Conclude(state.opening.why, event.verdict, state.absent)
    return _rested(state), (LeaveVerdict(event.verdict), end)


def _called(state: State, event: Called) -> Step:
    assert state.opening is not None
    call = event.call
    if call is None:
        return _leaderless(state)
    if call.over:
        return _rested(state), (Conclude(state.opening.why, None, call.absent, call.over),)
    state = replace(state, phase=Phase.AWAITING, absent=call.absent)
    return state, (LeaveParts(RankSet.parse(call.ranks)), Do.AWAIT_VERDICT)


def _told(state: State, event: Told) -> Step:
    assert state.opening is not None
    if event.verdict is None:
        return _leaderless(state)
    return _rested(state), (Conclude(state.opening.why, event.verdict, state.absent),)


def _leaderless(state: State) -> Step:
    assert state.opening is not None
    leader = state.opening.leader
    entry = state.entries.get(leader)
    ranks, host = (entry.ranks, entry.host) if entry else (str(leader), "")
    absent = (Absent(ranks, host, "does not answer"),)
    end = Conclude(state.opening.why, None, absent, "whoever led the meeting does not answer", leaderless=True)
    return _rested(state), (end,)


def _rested(state: State) -> State:
    """Ready for the next episode, with what is known of the other watchers."""
    return State(state.me, state.world_size, state.number + 1, entries=state.entries)
