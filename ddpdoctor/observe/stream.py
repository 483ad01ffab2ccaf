"""Pure. The history of all ranks in common numbers: what is the same place or group on every rank has one number."""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ddpdoctor.model.ranks import Group, Rank
from ddpdoctor.model.stacks import Site
from ddpdoctor.probe import page as layout
from ddpdoctor.probe.libraries import Kind, origin
from ddpdoctor.probe.string_table import StringTable

CALL, NEXT, STOP, FORWARD, FORWARD_NO_SYNC, BACKWARD, STEP = (
    layout.EVENT_KINDS.index(kind)
    for kind in ("call", "next", "stop_iteration", "forward", "forward_no_sync", "backward", "optimizer_step")
)
#: what a call waits for if it is an operation of the whole group
_COLLECTIVE = frozenset(layout.KINDS.index(kind) for kind in ("all", "from_root", "to_root"))
_SEND, _RECV = layout.KINDS.index("send"), layout.KINDS.index("recv")
_PASSES = frozenset({FORWARD, FORWARD_NO_SYNC, BACKWARD})
NOWHERE = -1
#: a backward in which DDP is known to average nothing: for those who compare, something else than one in which it does
UNREDUCED = len(layout.EVENT_KINDS)


class Message(NamedTuple):
    """What a send and the recv that takes it have in common: they meet in the order in which they were made."""

    sender: int
    receiver: int
    tag: int


class Moment(NamedTuple):
    """An event of one rank."""

    time: float
    #: index in EVENT_KINDS, or UNREDUCED
    code: int
    thread: int
    #: number of the place (what happens there and the line), the same on all ranks
    place: int
    #: number of the group that meets here, NOWHERE if nobody does
    group: int
    #: the rank waits here until the others have come
    blocks: bool = False
    #: of a send or recv whose peer is known; `group` is NOWHERE, since only two meet
    message: Message | None = None
    #: of what a group meets in: number of the place together with the calls that led to it, NOWHERE if they are not
    #: known. One line of a project's own module may make every collective of a job
    route: int = NOWHERE


@dataclass(slots=True)
class Names:
    """The numbers of places and groups. Numbers count from 0 and stay."""

    #: by what happens, the line, and the operation that is called or who took the batch
    places: dict[tuple[int, Site | None, str], int] = field(default_factory=dict)
    groups: dict[tuple[str, tuple[int, ...]], int] = field(default_factory=dict)
    #: (place, path of calls) -> number of the route, counted with the places
    routes: dict[tuple[int, tuple[Site, ...]], int] = field(default_factory=dict)
    #: place -> its routes
    routes_to: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    #: by number, of places and of routes
    sites: list[tuple[int, Site | None, str]] = field(default_factory=list)
    paths: dict[int, tuple[Site, ...]] = field(default_factory=dict)
    #: loader -> the ways of calls that took its batches: its own line may be that which made the iterator
    taken: dict[int, set[tuple[Site, ...]]] = field(default_factory=lambda: defaultdict(set))
    #: by number
    known: list[Group] = field(default_factory=list)

    def place(self, code: int, site: tuple[str, int, str] | None, op: str) -> int:
        key = (code, Site(*site) if site else None, op)
        number = self.places.get(key)
        if number is None:
            number = self.places[key] = len(self.sites)
            self.sites.append(key)
        return number

    def route(self, place: int, path: tuple[tuple[str, int, str], ...]) -> int:
        """The route to a place; `path` begins with the innermost call."""
        key = (place, tuple(Site(*site) for site in path))
        number = self.routes.get(key)
        if number is None:
            number = self.routes[key] = len(self.sites)
            self.sites.append(self.sites[place])
            self.paths[number] = key[1]
            self.routes_to[place].append(number)
        return number

    def group(self, name: str, description: str, members: tuple[int, ...]) -> int:
        number = self.groups.get((name, members))
        if number is None:
            number = self.groups[name, members] = len(self.known)
            self.known.append(Group(name, tuple(Rank(member) for member in members), description))
        return number


#: looked up texts that are kept: a job may make a group for every epoch
MOST_FIXED = 4096

#: code, site, group, operation, flags and path of an event, and whether it reduces gradients; what is not code or flags
#: is the position of a text
_Key = tuple[int, int, int, int, int, int, bool]


class _Fixed(NamedTuple):
    """What is the same in all events that have the same texts and flags: fields of their moments."""

    code: int
    place: int
    group: int = NOWHERE
    blocks: bool = False
    route: int = NOWHERE
    #: of a message whether it is sent, None of everything else
    sends: bool | None = None


class Translator:
    """One page's rows as moments: what its texts say is looked up once."""

    def __init__(self, names: Names, texts: StringTable, rank: int, world_size: int) -> None:
        self._names = names
        self._rank = rank
        self._texts = texts
        self._world = names.group("0", "default_pg", tuple(range(world_size)))
        self._fixed: dict[_Key, _Fixed] = {}
        #: thread -> whether its newest forward has a backward that communicates
        self._synchronises: dict[int, bool] = {}

    def moments(self, rows: list[tuple[Any, ...]]) -> list[Moment]:
        """Rows as `probe.page.EVENT` unpacks them, in order."""
        return [self._moment(row) for row in rows]

    def _moment(self, row: tuple[Any, ...]) -> Moment:
        _, time, _, thread, site, group, op, _, peer, _, tag, code, flags, path, _ = row
        reduces = code in _PASSES and self._reduces(thread, code, flags)
        key = (code, site, group, op, flags, path, reduces)
        fixed = self._fixed.get(key)
        if fixed is None:
            if len(self._fixed) >= MOST_FIXED:
                self._fixed.clear()
            fixed = self._fixed[key] = self._look_up(key)
        code, place, met, blocks, route, sends = fixed
        if sends is None:
            return Moment(time, code, thread, place, met, blocks, None, route)
        if peer < 0:
            return Moment(time, code, thread, place, NOWHERE)
        message = Message(self._rank, peer, tag) if sends else Message(peer, self._rank, tag)
        return Moment(time, code, thread, place, NOWHERE, blocks, message)

    def _look_up(self, key: _Key) -> _Fixed:
        code, site, group, op, flags, path, reduces = key
        if code == BACKWARD and flags & layout.UNREDUCED:
            code = UNREDUCED
        name = (self._texts.name(op) or "") if code == CALL else self._taker(path) if code == NEXT else ""
        place = self._names.place(code, self._texts.site(site), name)
        if code == NEXT:
            self._names.taken[place].add(tuple(Site(*frame) for frame in self._texts.path(path)))
        if code == CALL:
            kind, waits = flags >> layout.KIND_SHIFT, not flags & layout.ASYNCHRONOUS
            if kind in _COLLECTIVE:
                return _Fixed(code, place, self._group(group), waits, self._route(place, path))
            if kind in (_SEND, _RECV):
                return _Fixed(code, place, blocks=waits and kind == _RECV, sends=kind == _SEND)
        if reduces:
            return _Fixed(code, place, self._group(group), blocks=True, route=self._route(place, path))
        return _Fixed(code, place)

    def _taker(self, path: int) -> str:
        """The functions of libraries that took a batch for a line of the job, innermost first: one line may run several
        loops over loaders of their own, as `trainer.fit()` trains and validates."""
        frames = (Site(*frame) for frame in self._texts.path(path))
        used = itertools.takewhile(lambda frame: origin(frame.file).kind is not Kind.PROJECT, frames)
        return " ".join(f"{frame.file.rpartition('/')[2]}:{frame.function}" for frame in used)

    def _reduces(self, thread: int, code: int, flags: int) -> bool:
        """Whether gradients are averaged in a forward or backward: in a backward of which the page says so; if it says
        nothing, in the first after a forward that synchronises."""
        if code != BACKWARD:
            self._synchronises[thread] = code == FORWARD and bool(flags & layout.GRADIENTS)
            return False
        known, synchronises = layout.reduces(flags), self._synchronises.pop(thread, False)
        return synchronises if known is None else known

    def _route(self, place: int, path: int) -> int:
        frames = self._texts.path(path)
        return self._names.route(place, frames) if frames else NOWHERE

    def _group(self, position: int) -> int:
        found = self._texts.group(position) if position else None
        return self._world if found is None else self._names.group(*found)
