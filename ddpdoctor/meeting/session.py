"""Impure. Takes part in the meetings of one attempt of a job: runs the episodes' state machine over a board."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol

from ddpdoctor.meeting import episode, messages
from ddpdoctor.meeting.board import Answer, Board, Claimed, Found, Lost
from ddpdoctor.meeting.episode import Action, Conclude, Do, Event, Phase, State
from ddpdoctor.meeting.messages import Absent, Call, Digest, Entry, Why
from ddpdoctor.model.ranks import Rank, RankSet

#: seconds between two looks whether somebody has opened an episode, and nodes beyond which they are fewer: the store
#: has one thread, and it is the job's
POLL, NODES_PER_SECOND = 0.5, 512.0
#: episodes that may have been held before this watcher came
HELD_BEFORE = 64
#: absent ranks whose probes are asked after
MOST_ASKED = 64


class Delegate(Protocol):
    """What a watcher contributes."""

    def digest(self, node: Rank, why: Why) -> Digest: ...

    def parts(self, ranks: RankSet, why: Why) -> bytes | None:
        """What these ranks do, as far as they are here."""

    def judge(self, parts: Mapping[Rank, bytes], absent: tuple[Absent, ...], digests: Mapping[Rank, Digest]) -> bytes:
        """The verdict on the parts of all nodes, for `Conclude`."""


class Session:
    """`want` opens an episode as soon as none goes on; `tick` gives the end of one. One board serves one session."""

    def __init__(self, board: Board, room: str, entry: Entry, world_size: int, delegate: Delegate) -> None:
        """`room`: what all keys begin with."""
        self._board = board
        self._room = room
        self._entry = entry
        self._delegate = delegate
        self._state = State(entry.node, world_size, entries={entry.node: entry})
        #: what the answers that are still to come mean
        self._expected: deque[Callable[[Answer], Event | None]] = deque()
        self._wanted: Why | None = None
        self._polled = 0.0
        self._concluded: deque[Conclude] = deque()
        self._cut = False
        #: whether the board has answered
        self.connected = False
        self._leave_entry()
        self._read_list()
        self._ask([self._key("call", number) for number in range(1, HELD_BEFORE + 1)], 0.0, self._come_later)

    @property
    def meets(self) -> bool:
        """Whether an episode goes on, or is wanted."""
        return not self._cut and (self._state.phase is not Phase.IDLE or self._wanted is not None)

    @property
    def cut(self) -> bool:
        return self._cut

    def entries(self) -> Mapping[Rank, Entry]:
        """The other watchers as far as they are known, and this one."""
        return self._state.entries

    def host_of(self, rank: Rank) -> str:
        return next((entry.host for entry in self._state.entries.values() if rank in entry.members), "")

    def sees(self, ranks: RankSet) -> None:
        """Tell the others of ranks that were not seen when this watcher came; the last version of an entry counts."""
        if not self._cut and ranks - self._entry.members:
            self._entry = replace(self._entry, ranks=str(ranks))
            self._state = replace(self._state, entries={**self._state.entries, self._entry.node: self._entry})
            self._leave_entry()

    def want(self, why: Why) -> None:
        """Open an episode; one that goes on serves as well, unless it was opened for less."""
        running = self._state.opening.why if self._state.opening else None
        if running is None or (running is Why.STILL and why is not Why.STILL):
            self._wanted = why

    def tick(self, now: float) -> Conclude | None:
        """Do what is due at `now` (CLOCK_MONOTONIC)."""
        for answer in self._board.poll(now):
            self._take(answer)
        if self._state.phase is Phase.IDLE and not self._expected and not self._cut:
            self._begin(now)
        return self._concluded.popleft() if self._concluded else None

    def close(self) -> None:
        self._cut = True
        self._board.close()

    def _begin(self, now: float) -> None:
        if self._wanted is not None:
            why, self._wanted = self._wanted, None
            self._happen(episode.Wanted(why))
        elif now - self._polled >= max(POLL, len(self._state.entries) / NODES_PER_SECOND):
            self._polled = now
            self._ask([self._key("open")], 0.0, self._opened_by_another)

    def _take(self, answer: Answer) -> None:
        if isinstance(answer, Lost):
            self._lose(answer.reason)
            return
        self.connected = True
        meaning = self._expected.popleft()
        try:
            event = meaning(answer)
        except ValueError as error:
            self._lose(f"another watcher wrote what nobody understands ({error})")
            return
        if event is not None:
            self._happen(event)

    def _lose(self, reason: str) -> None:
        self._expected.clear()
        self._happen(episode.Cut(reason))
        self.close()

    def _happen(self, event: Event) -> None:
        self._state, actions = episode.advance(self._state, event)
        for action in actions:
            self._do(action)

    def _do(self, action: Action) -> None:
        match action:
            case episode.Claim(opening):
                self._board.claim(self._key("open"), messages.claim(opening))
                self._expected.append(_opened)
            case episode.LeaveDigest(why):
                node = self._entry.node
                self._board.put(self._key("d", node=node), messages.pack(self._delegate.digest(node, why)))
            case episode.LeaveCall(call):
                self._board.put(self._key("call", before=bool(call.over)), messages.pack(call))
            case episode.LeaveParts(ranks):
                self._leave_parts(ranks)
            case episode.Judge(parts, absent):
                self._happen(episode.Judged(self._delegate.judge(parts, absent, self._state.digests)))
            case episode.LeaveVerdict(verdict):
                self._board.put(self._key("v", before=True), verdict)
            case Conclude(why, leaderless=True) if why is not Why.STILL:
                self._wanted = self._wanted or why
            case Conclude():
                self._concluded.append(action)
            case Do():
                self._wait(action)

    def _wait(self, what: Do) -> None:
        match what:
            case Do.READ_LIST:
                self._read_list(self._listed)
            case Do.READ_AGAIN:
                # nobody sets the second, so the first is read when the time is over
                self._ask([f"{self._room}/watchers", f"{self._room}/nobody"], episode.PAUSE, self._listed)
            case Do.GATHER_DIGESTS:
                self._gather("d", self._state.entries, episode.DIGESTS, self._digested)
            case Do.ASK_PROBES:
                self._ask(self._probe_keys(), 0.0, self._excused)
            case Do.AWAIT_CALL:
                self._ask([self._key("call")], episode.CALL, self._called)
            case Do.COLLECT:
                self._gather("p", self._asked_nodes(), episode.PARTS, self._collected)
            case Do.AWAIT_VERDICT:
                self._ask([self._key("v")], episode.VERDICT, self._told)

    def _probe_keys(self) -> list[str]:
        return [f"{self._room}/node/{rank}" for rank in list(episode.uncovered(self._state))[:MOST_ASKED]]

    def _asked_nodes(self) -> list[Rank]:
        """The nodes that were asked for parts, and are there."""
        state = self._state
        asked = (entry.node for entry in state.entries.values() if episode.is_asked(state.wanted, entry))
        return [node for node in asked if node in state.digests]

    def _leave_parts(self, ranks: RankSet) -> None:
        assert self._state.opening is not None
        if episode.is_asked(ranks, self._entry):
            parts = self._delegate.parts(ranks, self._state.opening.why)
            if parts is not None:
                self._board.put(self._key("p", node=self._entry.node), parts)

    # what is under which key

    def _key(self, what: str, number: int | None = None, *, node: Rank | None = None, before: bool = False) -> str:
        """`before`: of the episode that has just been concluded."""
        number = self._state.number - before if number is None else number
        return f"{self._room}/{number}/{what}" + (f"/{node}" if node is not None else "")

    def _ask(self, keys: list[str], within: float, meaning: Callable[[Answer], Event | None]) -> None:
        self._board.gather(keys, within)
        self._expected.append(meaning)

    def _gather(
        self, what: str, nodes: Mapping[Rank, Entry] | list[Rank], within: float, meaning: Callable[[Answer], Event]
    ) -> None:
        self._ask([self._key(what, node=node) for node in nodes], within, meaning)

    def _leave_entry(self) -> None:
        self._board.append(f"{self._room}/watchers", messages.line(self._entry))

    def _read_list(self, meaning: Callable[[Answer], Event | None] | None = None) -> None:
        self._ask([f"{self._room}/watchers"], 0.0, meaning or self._know)

    # what answers mean

    def _come_later(self, answer: Answer) -> None:
        """Take part from the first episode on that has not got to its call yet."""
        held = _values(answer)
        numbers = (number for number in range(1, HELD_BEFORE + 1) if self._key("call", number) not in held)
        self._state = State(
            self._state.me, self._state.world_size, next(numbers, HELD_BEFORE + 1), entries=self.entries()
        )

    def _opened_by_another(self, answer: Answer) -> Event | None:
        found = _values(answer).get(self._key("open"))
        return episode.Opened(messages.claimed(found)) if found else None

    def _know(self, answer: Answer) -> None:
        self._state = State(
            self._state.me, self._state.world_size, self._state.number, entries=self._listed(answer).entries
        )

    def _listed(self, answer: Answer) -> episode.Listed:
        lines = _values(answer).get(f"{self._room}/watchers", b"")
        return episode.Listed({entry.node: entry for entry in (*messages.entries(lines), self._entry)})

    def _digested(self, answer: Answer) -> Event:
        found = self._by_node("d", answer)
        return episode.Digested({node: messages.unpack(Digest, data) for node, data in found.items()})

    def _excused(self, answer: Answer) -> Event:
        found = (messages.registered(data) for data in _values(answer).values())
        return episode.Excused(RankSet.of(rank for ranks in found for rank in ranks))

    def _called(self, answer: Answer) -> Event:
        found = _values(answer).get(self._key("call"))
        return episode.Called(messages.unpack(Call, found) if found else None)

    def _collected(self, answer: Answer) -> Event:
        return episode.Collected(self._by_node("p", answer))

    def _told(self, answer: Answer) -> Event:
        return episode.Told(_values(answer).get(self._key("v")))

    def _by_node(self, what: str, answer: Answer) -> dict[Rank, bytes]:
        found = _values(answer)
        keys = {node: self._key(what, node=node) for node in self._state.entries}
        return {node: found[key] for node, key in keys.items() if key in found}


def _opened(answer: Answer) -> Event:
    assert isinstance(answer, Claimed)
    return episode.Opened(messages.claimed(answer.value))


def _values(answer: Answer) -> Mapping[str, bytes]:
    return answer.values if isinstance(answer, Found) else {}
