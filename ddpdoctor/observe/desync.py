"""Pure. A shift that has stayed, as a report: who, since when, at which line, and what will come of it.

Never more than a warning: operations and sizes agree, so nothing is stuck. `likely` only where a majority, the source
and the recorders agree.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ddpdoctor.diagnose import codes
from ddpdoctor.diagnose.batch_of_turn import is_one_of_each_turn
from ddpdoctor.diagnose.codes import Rule
from ddpdoctor.diagnose.counted_loops import CountedLoop
from ddpdoctor.diagnose.course import NO_PROOF
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.shift_cause import ShiftCause, Way
from ddpdoctor.model.collectives import Recorder
from ddpdoctor.model.desync import Desync
from ddpdoctor.model.diagnosis import Confidence, Deadlock, Diagnosis, Location, Outcome
from ddpdoctor.model.evidence import SourceFile
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.report import RankStatus, Report, Timeline
from ddpdoctor.model.stacks import Site
from ddpdoctor.observe.shifts import Counted, Shift, Shifts, parting
from ddpdoctor.observe.stream import (
    BACKWARD,
    CALL,
    FORWARD,
    FORWARD_NO_SYNC,
    NEXT,
    STEP,
    STOP,
    UNREDUCED,
    Moment,
    Names,
)

#: a line that takes batches by itself
_TAKES = re.compile(r"\b(iter|next)\(")
#: what makes such a context: of torch, of DistributedDataParallel, of Accelerate
_JOINS = re.compile(r"\bJoin\(|\.join\(\)|\bjoin_uneven_inputs\(")
#: what recorders that agree show
CONFIRMED = "operations and sizes agree at every number, as the recorders show"
#: collectives at equal numbers that recorders must agree on
AGREED = 8
#: what helps against any of them
_FIX = (
    "Let every rank take part in every step: skip a batch on all ranks or on none, and agree on it (all_reduce a flag) "
    "where one rank decides."
)
#: and where threads share a group
GROUP_OF_ITS_OWN = (
    "Give the background thread a process group of its own (dist.new_group, called by the main thread of every rank), "
    "or let one thread issue all collectives of the group."
)
#: what is counted, and at what
_COUNTED = {
    Counted.COLLECTIVES: ("collective", "place"),
    Counted.BATCHES: ("batch", "collective"),
    Counted.TURNS: ("turn", "collective"),
}
_DOES = {
    NEXT: "took the next batch",
    STOP: "came to the end of its loader",
    FORWARD: "went on to forward",
    FORWARD_NO_SYNC: "went on to a forward under no_sync",
    BACKWARD: "went on to backward",
    UNREDUCED: "went on to a backward in which gradients are not averaged",
    STEP: "went on to the optimizer's step",
}
#: with synchronisation and without it
_SYNCHRONISED = ({FORWARD, FORWARD_NO_SYNC}, {BACKWARD, UNREDUCED})


@dataclass(frozen=True, slots=True)
class Found:
    """A shift, and the two sides of its parting."""

    shift: Shift
    culprits: RankSet
    members: RankSet
    group: str
    mine: Moment | None = None
    theirs: Moment | None = None
    #: each member's way to where the shift is seen
    ways: Mapping[Rank, Way] = field(default_factory=dict)
    #: the loop in whose turns the ranks were compared, where nothing else shows the shift
    loop: CountedLoop | None = None

    @property
    def shifted(self) -> RankSet:
        """Those that have shifted against the others; of two ranks, the one that is compared with the other."""
        return RankSet.of(rank for rank, _ in self.shift.by)


def find(shift: Shift, shifts: Shifts, names: Names) -> Found:
    """Who has shifted, and where their way left that of the others."""
    found = _who(shift, names)
    shifted, rest = found.shifted, found.members - found.shifted
    if not shifted or not rest:
        return found
    theirs = shifts.way(next(iter(rest)), shift)
    by_route = shift.spot[0] in names.paths
    partings = {rank: parting(shifts.way(rank, shift), theirs, by_route=by_route) for rank in shifted}
    ways = {Rank(rank): Way(begin, end) for rank, begin, end in shift.ways}
    if shift.counted is Counted.BATCHES:
        # they meet at the end of their ways, and have parted before
        parted = {rank: apart[0].time for rank, apart in partings.items() if apart is not None and apart[0] is not None}
        ways |= {rank: ways[rank]._replace(end=time) for rank, time in parted.items()}
    mine, other = partings[next(iter(shifted))] or (None, None)
    return dataclasses.replace(found, mine=mine, theirs=other, ways=ways)


def in_turn(shift: Shift, loop: CountedLoop, names: Names) -> Found:
    """A shift in the same turn of a loop. What the ranks did otherwise is not in their histories."""
    return dataclasses.replace(_who(shift, names), loop=loop)


def _who(shift: Shift, names: Names) -> Found:
    group = names.known[shift.group]
    culprits = RankSet.of(rank for rank, _ in shift.by) if shift.majority else RankSet()
    return Found(shift, culprits, RankSet(group.members), group.label(1 + max(group.members)))


def is_replaced_batch(found: Found, names: Names, code: Mapping[str, SourceFile]) -> bool:
    """Whether only the loader's place tells, and its line takes batches by itself: a bad batch may have been replaced
    by the next one, which takes one more and leaves everything else as it is. A `for` and a framework's loop do not,
    nor a loop that has a turn less then."""
    kind, site, _ = names.sites[found.shift.spot[0]]
    if kind != NEXT:
        return False
    text = _line(site, code)
    if site is None or not text:
        return True
    if _TAKES.search(text) is None:
        return False
    ways = names.taken.get(found.shift.spot[0], ())
    lines = {next((call for call in way if call.file in code), site) for way in ways}
    return len(lines) != 1 or not is_one_of_each_turn(code, lines.pop())


def is_under_join(names: Names, code: Mapping[str, SourceFile]) -> bool:
    """Whether ranks have made collectives where a `with` statement of torch's Join ends: a rank without data shadows
    those of the others from there, as many as a step really has, so its number says nothing."""
    calls = {site for kind, site, _ in names.sites if kind == CALL and site is not None}
    ends = (site for site in calls if _line(site, code).lstrip().startswith(("with ", "async with ")))
    return any(_JOINS.search(code[site.file].text) for site in ends)


def agree(recorders: Mapping[Rank, Recorder], group: str, members: RankSet) -> bool:
    """Whether the ranks' recorders hold the same operations and sizes at equal numbers: the fault is silent so far."""
    if any(rank not in recorders for rank in members):
        return False
    rows = [
        {
            entry.seq: (entry.op, entry.numel)
            for entry in recorders[rank].entries
            if entry.group == group and not entry.p2p
        }
        for rank in members
    ]
    common = sorted(set.intersection(*(set(row) for row in rows)))
    return len(common) >= AGREED and all(len({row[seq] for row in rows}) == 1 for seq in common)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a warning is told with. Times are CLOCK_MONOTONIC seconds."""

    code: Mapping[str, SourceFile]
    started: float
    now: float
    #: the recorders agree (see `agree`)
    confirmed: bool
    #: what the histories and the source say of the parting
    cause: ShiftCause | None = None
    #: several threads of a rank use the group
    threads: bool = False


def report(found: Found, names: Names, seen: Circumstances) -> Report:
    """The warning."""
    rule, said, site = _parting(found, names)
    location = located(found.shifted, site, seen.code)
    if seen.threads:
        # whose turn it is decides how many a rank has made; no branch need have been taken otherwise
        rule = codes.THREADS_SHARE_GROUP
    elif seen.cause is not None:
        rule, location = seen.cause.rule, seen.cause.locations[0]
    decided = rule not in (codes.UNDECIDED, codes.THREADS_SHARE_GROUP)
    sure = seen.confirmed and found.shift.majority and decided
    place = names.sites[found.shift.spot[0]][1]
    desync = Desync(
        culprits=found.culprits,
        members=found.members,
        group=found.group,
        shift=found.shift.by[0][1],
        counted=found.shift.counted.value,
        seen_at=located(found.shifted, place, seen.code),
        visit=found.shift.visit,
        since=found.shift.since - seen.started,
        parting=said,
        location=location,
        code=rule.code,
    )
    return as_report(desync, _diagnosis(found, rule, desync, seen, sure=sure), seen)


def as_report(desync: Desync, told: Diagnosis, seen: Circumstances) -> Report:
    """The report of a warning: all ranks move, and nothing else is claimed."""
    files = {place.file for place in told.locations}
    return Report(
        outcome=Outcome.DESYNC,
        deadlock=Deadlock.NO,
        diagnoses=(told,),
        ranks=tuple(RankStatus(rank, "working", "goes on", None, -1) for rank in desync.members),
        groups=(),
        stacks=(),
        gaps=(),
        timeline=Timeline(None, desync.since, seen.now - seen.started),
        code={file: text for file, text in seen.code.items() if file in files},
        notes=(NO_PROOF,),
        desync=desync,
    )


def _diagnosis(found: Found, rule: Rule, desync: Desync, seen: Circumstances, *, sure: bool) -> Diagnosis:
    at = "visit {} of the same place" if found.shift.counted is Counted.COLLECTIVES else "collective {} of the group"
    facts = [
        f"at {at.format(desync.visit)}, and at every one since, the number of {desync.counted} before it differs by "
        f"{abs(desync.shift)}"
    ]
    if found.loop is not None:
        same = "collective" if found.shift.counted is Counted.TURNS else "turn"
        facts = [
            f"in the same {same} of the loop at {_short(found.loop.head)}, as looks at the ranks show, the number of "
            f"{desync.counted} before it differs by {abs(desync.shift)}"
        ]
    if seen.confirmed:
        facts.append(CONFIRMED)
    if seen.threads:
        facts.append(f"several threads of a rank make the collectives of {found.group}")
    shown = desync.location or desync.seen_at
    own = (shown,) if shown else ()
    return diagnosis(
        rule,
        RankSet(),
        confidence=Confidence.LIKELY if sure else Confidence.POSSIBLE,
        culprits=found.culprits,
        summary=_summary(found, desync),
        why=_why(found, desync.shift),
        fix=GROUP_OF_ITS_OWN if seen.threads else (seen.cause.fix if seen.cause else "") or _FIX,
        locations=seen.cause.locations if seen.cause else own,
        evidence=(*facts, *(seen.cause.sentences if seen.cause else ())),
    )


def _plural(word: str) -> str:
    return "es" if word.endswith("ch") else "s"


def _words(ranks: Iterable[int]) -> str:
    members = RankSet.of(ranks)
    return f"rank{'s' * (len(members) > 1)} {members}"


def _in_loop(found: Found) -> Site | None:
    """Where ranks can have parted in a turn: where a call is passed over if there is one such line, else the loop."""
    if found.loop is None:
        return None
    fewer = all(more < 0 for _, more in found.shift.by)
    return found.loop.passes[0] if fewer and len(found.loop.passes) == 1 else found.loop.head


def _lines(found: Found, names: Names) -> tuple[Site | None, Site | None]:
    """The lines of the two sides: where their routes to the same place part, if it is the same."""
    mine, theirs = found.mine, found.theirs
    if mine is not None and theirs is not None and mine.place == theirs.place:
        paths = (reversed(names.paths.get(side.route, ())) for side in (mine, theirs))
        parted = next((lines for lines in zip(*paths, strict=False) if lines[0] != lines[1]), None)
        if parted is not None:
            return parted
    one, two = (names.sites[side.place][1] if side is not None else None for side in (mine, theirs))
    return one, two


def _short(site: Site) -> str:
    return f"{site.file.rpartition('/')[2]}:{site.line}"


def _does(moment: Moment | None, site: Site | None, names: Names) -> str:
    if moment is None:
        return "did nothing"
    code, _, op = names.sites[moment.place]
    where = f" at {_short(site)}" if site else ""
    return (f"called {op}" if code == CALL else _DOES.get(code, "went on")) + where


def _parting(found: Found, names: Names) -> tuple[Rule, str, Site | None]:
    """The rule for such a parting, the parting in words, and the line to look at."""
    if found.mine is None and found.theirs is None:
        return codes.UNDECIDED, "", _in_loop(found)
    rest = found.members - found.shifted
    lines = _lines(found, names)
    does, do = (_does(side, line, names) for side, line in zip((found.mine, found.theirs), lines, strict=True))
    said = f"{_words(found.shifted)} {does} where {_words(rest)} {do}"
    mine, theirs = (found.mine.code if found.mine else -1), (found.theirs.code if found.theirs else -1)
    site = lines[0] or lines[1]
    if {mine, theirs} in _SYNCHRONISED:
        return codes.NO_SYNC_MISMATCH, said, site
    if CALL in (mine, theirs) and mine != theirs:
        return codes.RANK_CONDITIONAL_COLLECTIVE, said, lines[0] if mine == CALL else lines[1]
    if theirs in (FORWARD, BACKWARD, STEP, FORWARD_NO_SYNC, UNREDUCED):
        return codes.SKIPPED_BATCH, said, site
    return codes.UNDECIDED, said, site


def _summary(found: Found, desync: Desync) -> str:
    parted = f": {desync.parting}" if desync.parting else ""
    if not found.culprits:
        return f"since {desync.since:.0f} s the {_words(found.members)} do not belong to the same step any more{parted}"
    number = abs(desync.shift)
    behind = "ahead of" if desync.shift > 0 else "behind"
    others = _words(found.members - found.culprits)
    is_are = "are" if len(found.culprits) > 1 else "is"
    what, same = _COUNTED[found.shift.counted]
    at = f"at the same {same}"
    if found.loop is not None:
        inside = "at the same collective" if found.shift.counted is Counted.TURNS else "in the same turn"
        at = f"{inside} of the loop at {_short(found.loop.head)}"
    where = f"{number} {what}{_plural(what) if number > 1 else ''} {behind} {others} {at}"
    return f"since {desync.since:.0f} s {_words(found.culprits)} {is_are} {where}{parted}"


def _why(found: Found, shift: int) -> str:
    who = _words(found.culprits) if found.culprits else "one of the ranks"
    return (
        f"In {found.group} collectives pair by their number. Since then those of {who} pair with another step of the "
        f"others, {abs(shift)} apart: gradients and metrics are mixed, and nothing fails, because operations and sizes "
        "agree. The ranks will wait for each other for ever where the numbers run out, at the latest at the end of the "
        "epoch."
    )


def located(ranks: RankSet, site: Site | None, code: Mapping[str, SourceFile]) -> Location | None:
    """Where these ranks are, with the line's text; None for no place."""
    if site is None:
        return None
    return Location(ranks, site.file, site.line, site.function, _line(site, code).strip())


def _line(site: Site | None, code: Mapping[str, SourceFile]) -> str:
    """The text of a line, "" if it is not known."""
    text = code.get(site.file) if site else None
    if site is None or text is None:
        return ""
    lines = text.text.split("\n")
    return lines[site.line - text.first] if 0 <= site.line - text.first < len(lines) else ""
