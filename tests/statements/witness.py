"""What the evidence itself says of each rank, read without the engine: places, operations, counts, ends."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import PurePath

from ddpdoctor.model.collectives import Call, RecorderEntry
from ddpdoctor.model.evidence import Evidence, RankEvidence
from ddpdoctor.model.progress import Event, EventKind, Raised
from ddpdoctor.model.ranks import Group, Rank
from ddpdoctor.model.stacks import Site, Stacks

#: a place as sentences write it: the file's name, with its folder if it is called __init__, and a line
Place = tuple[str, int]


def place_of(site: Site) -> Place:
    path = PurePath(site.file)
    return (f"{path.parent.name}/{path.name}" if path.stem == "__init__" else path.name, site.line)


class Witness:
    """The evidence, indexed by rank. Nothing in here is a conclusion."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self._sites: dict[int, frozenset[Site]] = {}

    @cached_property
    def ranks(self) -> frozenset[int]:
        """Ranks that the job has."""
        return frozenset((*range(self.evidence.world_size), *self.evidence.seen()))

    def of(self, rank: int) -> RankEvidence | None:
        return self.evidence.rank(Rank(rank))

    def sites(self, rank: int) -> frozenset[Site]:
        """Every place where a process of the rank was or is, or from which it did anything."""
        if rank not in self._sites:
            seen = self.of(rank)
            self._sites[rank] = frozenset(_sites(seen)) if seen else frozenset()
        return self._sites[rank]

    def places(self, rank: int) -> frozenset[Place]:
        return frozenset(place_of(site) for site in self.sites(rank))

    def locals(self, rank: int) -> frozenset[tuple[str, int | None]]:
        """Names and values of the locals that were kept of its process."""
        seen = self.of(rank)
        threads = seen.stacks.threads if seen and seen.stacks else ()
        return frozenset((local.name, local.value) for thread in threads for local in thread.locals)

    def now(self, rank: int) -> frozenset[Place]:
        """Places where it is, as its stacks and open operations have it; all that is known where there are neither."""
        seen = self.of(rank)
        sites = [*(_in_stacks(seen.stacks) if seen else ())]
        for call in self.calls(rank):
            sites.extend(_of_call(call))
        sites.extend(entry.site for entry in self.outstanding(rank) if entry.site)
        return frozenset(place_of(site) for site in sites) or self.places(rank)

    def loops(self) -> frozenset[Place]:
        """Places of data loops."""
        found = [loader.site for seen in self.evidence.ranks if seen.page for loader in seen.page.counters.loaders]
        kinds = (EventKind.NEXT, EventKind.STOP_ITERATION, EventKind.NEXT_RAISED)
        for rank in self.ranks:
            for event in self.events(rank):
                found.extend(filter(None, (event.site, *event.path)) if event.kind in kinds else ())
        return frozenset(map(place_of, found))

    def times(self, rank: int, kind: EventKind, op: str, place: Place, by: Place | None = None) -> int:
        """How often its history has such an entry: made by the line itself, or else on the way from it.

        `by`: the library's line that did it for this one, as a framework that trains and evaluates has several.
        """
        alike = [
            event
            for event in self.events(rank)
            if event.kind is kind
            and (kind is not EventKind.CALL or (event.call is not None and event.call.op == op))
            and (by is None or (bool(event.path) and place_of(event.path[0]) == by))
        ]
        own = sum(event.site is not None and place_of(event.site) == place for event in alike)
        return own or sum(place in {place_of(site) for site in event.path if site} for event in alike)

    def events(self, rank: int) -> tuple[Event, ...]:
        seen = self.of(rank)
        return seen.page.events if seen and seen.page else ()

    def lost(self, rank: int) -> bool:
        """Something of its history is not there any more, or was never written: its absence proves nothing."""
        seen = self.of(rank)
        return seen is None or seen.page is None or seen.page.events_lost > 0

    def did(self, rank: int, kind: EventKind, op: str, place: Place) -> bool:
        """An entry of the history or of the recorder, or a call in flight, is of this kind and at this place."""
        for event in self.events(rank):
            named = event.call.op if event.call else ""
            if event.kind is kind and (kind is not EventKind.CALL or named == op):
                sites = (event.site, *event.path, *(event.call.path if event.call else ()))
                if place in {place_of(site) for site in sites if site}:
                    return True
        if kind is not EventKind.CALL:
            return False
        issued: list[tuple[str, tuple[Site | None, ...]]] = [
            *((call.op, (call.site, *call.path)) for call in self.calls(rank)),
            *((entry.op, (entry.site,)) for entry in self.entries(rank)),
        ]
        return any(named == op and place in {place_of(site) for site in sites if site} for named, sites in issued)

    def calls(self, rank: int) -> tuple[Call, ...]:
        """In flight."""
        seen = self.of(rank)
        return seen.page.calls if seen and seen.page else ()

    def outstanding(self, rank: int) -> tuple[RecorderEntry, ...]:
        seen = self.of(rank)
        return tuple(e for e in seen.recorder.entries if not e.retired or e.timed_out) if seen and seen.recorder else ()

    def entries(self, rank: int) -> tuple[RecorderEntry, ...]:
        seen = self.of(rank)
        return seen.recorder.entries if seen and seen.recorder else ()

    def raised(self, rank: int) -> tuple[Raised, ...]:
        seen = self.of(rank)
        return tuple(_raised(seen)) if seen else ()

    def groups(self) -> Iterator[Group]:
        for seen in self.evidence.ranks:
            yield from seen.page.groups if seen.page else ()
            yield from seen.recorder.groups if seen.recorder else ()

    def line(self, place: Place) -> str | None:
        """The text from a line on, as far as a statement may reach; None if no such line is known."""
        for path, source in self.evidence.code.items():
            if place_of(Site(path, place[1], "")) == place:
                lines = source.text.splitlines()
                if 0 <= place[1] - source.first < len(lines):
                    start = place[1] - source.first
                    return " ".join(lines[start : start + 12])
        return None


def _sites(seen: RankEvidence) -> Iterator[Site]:
    yield from _in_stacks(seen.stacks)
    for child in seen.children:
        yield from _in_stacks(child.stacks)
    for raised in _raised(seen):
        yield from raised.frames
        yield from _in_text(raised.traceback)
    yield from _in_text(seen.fatal)
    for entry in seen.recorder.entries if seen.recorder else ():
        yield from filter(None, (entry.site,))
    if seen.page:
        for event in seen.page.events:
            yield from filter(None, (event.site, *event.path))
            yield from _of_call(event.call) if event.call else ()
        for call in seen.page.calls:
            yield from _of_call(call)
        yield from (loader.site for loader in seen.page.counters.loaders)


def _of_call(call: Call) -> Iterator[Site]:
    yield from filter(None, (call.site, *call.path))


def _in_stacks(stacks: Stacks | None) -> Iterator[Site]:
    for thread in stacks.threads if stacks else ():
        yield from thread.frames


def _in_text(text: str) -> Iterator[Site]:
    for file, line in re.findall(r'File "([^"]+)", line (\d+)', text):
        yield Site(file, int(line), "")


def _raised(seen: RankEvidence) -> Iterator[Raised]:
    page = seen.page
    found: Iterable[Raised | None] = (
        seen.raised,
        *((page.ending.raised if page.ending else None, page.leaving, *page.pending) if page else ()),
        *((ended.raised for ended in page.ended_threads) if page else ()),
    )
    for raised in found:
        if raised:
            yield raised
            yield from raised.before
