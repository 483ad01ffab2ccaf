"""Pure. Who is waited for: the n-th meeting of a group is the n-th on each of its ranks, and the others waited for the
last to come. After a delay only the first meeting shows it. A send and the recv that takes it are a meeting of two, in
which the one that receives may wait.

Where the host does not wait for the device, arrivals drift apart, and who comes last says nothing: there the lengths
of the ranks' own steps are compared, from one meeting to the next. If the host waits elsewhere in each step (a loss
that it prints), all are equally long, and nobody is told.

The events of a backward are those of its beginning. What delays a rank inside of it is seen in torch's recorder, which
has the time of each gradient reduction (reductions.py).
"""

from __future__ import annotations

import itertools
import statistics
from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from ddpdoctor.model.diagnosis import Location
from ddpdoctor.model.ranks import Rank
from ddpdoctor.model.waited import Straggler, Waited
from ddpdoctor.observe.in_step import InStep
from ddpdoctor.observe.lateness import SHORTEST, is_told, line_of
from ddpdoctor.observe.reductions import Reductions
from ddpdoctor.observe.stream import BACKWARD, NEXT, NOWHERE, Message, Moment, Names

#: meetings of a rank that wait for those of others; more of them, and the ranks do not meet
MOST_OPEN = 4096
#: groups that are kept although nobody waits in them
MOST_GROUPS = 64
#: moments before a meeting in which what a rank did is looked for
TRAIL = 32
#: messages of two ranks and a tag that wait for their other end, which may be on another node; and such ranks and tags
MOST_SENT, MOST_PAIRS = 256, 1024
#: in place of a group's number: a sender and a receiver
_PAIR = -2


class Arrival(NamedTuple):
    """One rank at one meeting, and when it came to which place since the one before."""

    time: float
    place: int
    trail: tuple[tuple[float, int], ...]

    @property
    def own(self) -> float:
        """Seconds since the meeting before."""
        return self.time - self.trail[0][0] if self.trail else 0.0

    @property
    def gaps(self) -> tuple[tuple[float, int, int], ...]:
        """What it did since the one before: (seconds, after which place, before which)."""
        came = (*self.trail, (self.time, self.place))
        return tuple((then - time, after, before) for (time, after), (then, before) in itertools.pairwise(came))


@dataclass(slots=True)
class _Post:
    """Sends and recvs that are still without their other end; of the latter, whether the rank waits in it."""

    sent: deque[Arrival] = field(default_factory=deque)
    taken: deque[tuple[Arrival, bool]] = field(default_factory=deque)


@dataclass(slots=True)
class _Tally:
    """Meetings of one kind in which one rank came last."""

    #: how often by SHORTEST at least, and by how many seconds together
    late: int = 0
    seconds: float = 0.0
    #: (place after which, place before which) of its longest gap -> seconds beyond the others
    spent: dict[tuple[int, int], float] = field(default_factory=lambda: defaultdict(float))


class Arrivals:
    """Takes in the moments of all ranks as they come, and keeps sums."""

    def __init__(self, names: Names) -> None:
        self._names = names
        #: the host does not wait for the device in meetings
        self.device = False
        self._open: dict[int, InStep[Arrival]] = {}
        self._trails: dict[tuple[int, int], deque[tuple[float, int]]] = defaultdict(lambda: deque(maxlen=TRAIL))
        self._tallies: dict[tuple[int, str, int], _Tally] = defaultdict(_Tally)
        self._met: dict[tuple[int, str], int] = defaultdict(int)
        self._messages: dict[Message, _Post] = {}
        #: senders and receivers of which one end is not seen here: what came later would be paired wrongly
        self._apart: set[tuple[int, int]] = set()
        #: what the recorders show of the time within backwards
        self.reductions = Reductions(names)
        self._waited = 0.0
        self._first: dict[int, float] = {}
        self._last: dict[int, float] = {}
        self._blind = False

    def add(self, rank: int, moments: Iterable[Moment]) -> None:
        """Take in what a rank did next, in order."""
        for moment in moments if not self._blind else ():
            time, code, thread, place, group, blocks, message, _ = moment
            trail = self._trails[rank, thread]
            if message is not None:
                self._send_or_receive(rank, message, Arrival(time, place, tuple(trail)), blocks=blocks)
            if group != NOWHERE and blocks:
                self._first.setdefault(rank, time)
                self._last[rank] = time
                if code == BACKWARD:
                    self.reductions.begin(rank, moment)
                self._arrive(rank, moment, Arrival(time, place, tuple(trail)))
                trail.clear()
            trail.append((time, place))

    def forget(self) -> None:
        """Moments were lost, so meetings cannot be numbered any more: the sums stay as they are."""
        self._blind = True
        self._open.clear()
        self._trails.clear()
        self._messages.clear()
        self.reductions.forget()

    def _arrive(self, rank: int, moment: Moment, arrival: Arrival) -> None:
        group = self._open.get(moment.group)
        if group is None:
            group = self._open[moment.group] = InStep(self._names.known[moment.group].members)
            if len(self._open) > MOST_GROUPS:  # a job may make one for every epoch
                for idle in [one for one, came in self._open.items() if came.is_idle and came is not group]:
                    del self._open[idle]
        if group.add(rank, arrival) > MOST_OPEN:
            group.clear()
        elif group.is_complete:
            self._meet(moment, dict(zip(group.waiting, group.take(), strict=True)))

    def _meet(self, moment: Moment, came: dict[int, Arrival]) -> None:
        if len(came) < 2:
            return
        taken = [one.own if self.device else one.time for one in came.values()]
        longest = max(taken)
        last = list(came)[taken.index(longest)]
        taken.remove(longest)
        lead = longest - max(taken)
        what = self._meeting(moment)
        self._met[moment.group, what] += 1
        self._waited += sum(longest - one for one in taken)  # of large times only the differences are exact
        # of many meetings nearly together, chance alone makes one the last: those count that were late
        if lead < SHORTEST:
            return
        tally = self._tallies[moment.group, what, last]
        tally.late += 1
        tally.seconds += lead
        if found := _excess(came[last].gaps, [one.gaps for rank, one in came.items() if rank != last]):
            tally.spent[found] += lead

    def _send_or_receive(self, rank: int, message: Message, arrival: Arrival, *, blocks: bool) -> None:
        pair = (message.sender, message.receiver)
        if pair in self._apart:
            return
        post = self._messages.setdefault(message, _Post())
        if rank == message.sender:
            post.sent.append(arrival)
        else:
            post.taken.append((arrival, blocks))
        what = f"recv on rank {message.receiver}"
        while post.sent and post.taken:
            self._hand_over(post.sent.popleft(), *post.taken.popleft(), what, message.sender)
        if not post.sent and not post.taken:
            del self._messages[message]  # a tag may be used only once
        elif max(len(post.sent), len(post.taken)) > MOST_SENT:
            self._give_up(pair)
        elif len(self._messages) > MOST_PAIRS:
            self._give_up(Counter(one[:2] for one in self._messages).most_common(1)[0][0])

    def _give_up(self, pair: tuple[int, int]) -> None:
        self._apart.add(pair)
        self._messages = {one: kept for one, kept in self._messages.items() if one[:2] != pair}

    def _hand_over(self, came: Arrival, waited: Arrival, blocks: bool, what: str, sender: int) -> None:
        self._met[_PAIR, what] += 1
        lead = came.time - waited.time
        if blocks and lead >= SHORTEST and not self.device:
            self._waited += lead
            tally = self._tallies[_PAIR, what, sender]
            tally.late += 1
            tally.seconds += lead
            if found := _excess(came.gaps, [waited.gaps]):
                tally.spent[found] += lead

    def _meeting(self, moment: Moment) -> str:
        return "backward" if moment.code == BACKWARD else self._names.sites[moment.place][2]

    def waited(self) -> Waited | None:
        """What was seen so far, None before the ranks met."""
        meetings = sum(self._met.values())
        seconds = max((self._last[rank] - self._first[rank] for rank in self._last), default=0.0)
        if not meetings or seconds <= 0.0:
            return None
        total = seconds * len(self._last)
        found = [*self._stragglers(seconds), *self.reductions.stragglers()]
        found.sort(key=lambda one: -one.last / one.meetings * one.seconds)
        share = max(self._waited / total, self.reductions.share())
        return Waited(min(1.0, share), seconds, meetings, tuple(found), self.device)

    def _stragglers(self, seconds: float) -> Iterable[Straggler]:
        for (group, what, rank), tally in self._tallies.items():
            met = self._met[group, what]
            if not is_told(tally.late, tally.seconds, met, seconds):
                continue
            doing, location = self._doing(rank, tally)
            label = "" if group == _PAIR else self._names.known[group].label(len(self._last))
            yield Straggler(Rank(rank), label, what, tally.late, met, tally.seconds / tally.late, doing, location)

    def _doing(self, rank: int, tally: _Tally) -> tuple[str, Location | None]:
        """What the rank did while the others waited."""
        if not tally.spent:
            return "", None
        after, before = max(tally.spent, key=lambda gap: tally.spent[gap])
        code, site, _ = self._names.sites[before]
        begun = self._names.sites[after][1]
        if code != NEXT and begun is not None:
            site = begun
        where = line_of(rank, site)
        return "loading data" if code == NEXT else "after this line", where


def _excess(
    mine: tuple[tuple[float, int, int], ...], others: list[tuple[tuple[float, int, int], ...]]
) -> tuple[int, int] | None:
    """The gap that is longest beyond what the others took between the same places. The first gap follows a meeting, in
    which the others waited, too: it is compared as the others are."""
    if not mine:
        return None
    usual = [{(after, before): seconds for seconds, after, before in gaps} for gaps in others]

    def beyond(gap: tuple[float, int, int]) -> float:
        known = [one[gap[1:]] for one in usual if gap[1:] in one]
        return gap[0] - (statistics.median(known) if known else 0.0)

    longest = max(mine, key=beyond)
    return longest[1], longest[2]
