"""What a slot of a sentence claims, and how the evidence can contradict it: one row for each type of slot.

A check gets the slot's text and the texts of the slots that its form names after it; it returns what is wrong, or "".
"""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ddpdoctor.model.diagnosis import Diagnosis
from ddpdoctor.model.processes import Motion
from ddpdoctor.model.progress import Counters, EventKind
from ddpdoctor.model.ranks import RankSet
from tests.statements.witness import Place, Witness


@dataclass(frozen=True, slots=True)
class Case:
    """What a statement is checked against."""

    witness: Witness
    diagnosis: Diagnosis


@dataclass(frozen=True, slots=True)
class Type:
    """A type of slot."""

    pattern: str
    check: Callable[..., str]


def _each(one: str) -> str:
    """`X (rank 0), Y (rank 1) and Z (ranks 2-3)`: what is said of some of the ranks, and of the others."""
    part = rf"{one} \({RANKS}\)"
    return rf"{part}(?:, {part})* and {part}"


RANKS = r"[Rr]anks? \d+(?:[-,]\d+)*"
PLACE = r"(?:[\w.+-]+/)?(?:<[\w .-]+>|[\w.+-]+):\d+(?: \[\d+\])?"
OP = r"[A-Za-z_][\w.]*"
_STEPS = {
    "the next batch": EventKind.NEXT,
    "the end of the data": EventKind.STOP_ITERATION,
    "a forward": EventKind.FORWARD,
    "a forward under no_sync": EventKind.FORWARD_NO_SYNC,
    "a backward": EventKind.BACKWARD,
    "an optimizer step": EventKind.OPTIMIZER_STEP,
    "an exception of the data loader": EventKind.NEXT_RAISED,
}
STEP = rf"(?:nothing more|(?:{'|'.join(sorted(_STEPS, key=len, reverse=True))}|{OP}) at {PLACE}(?: \(by {PLACE}\))?)"
_ONE_WAIT = rf"{OP}(?: seq \d+)?(?: (?:to|from) (?:rank \d+|any rank))?(?: at {PLACE})?"
WAIT = rf"(?:no known wait|{_ONE_WAIT}|{_each(_ONE_WAIT)})"
_AT = rf"(?:at {PLACE}|{_each(f'at {PLACE}')})"
NOW = rf"(?:(?:is|are) in {WAIT}|(?:returned after the call|ended|is|are) {_AT})"
GROUP = rf"(?:the default group|group '[^']*' of {RANKS})"


def members(text: str) -> RankSet:
    return RankSet.parse(text.split(" ", 1)[1])


def place(text: str) -> Place:
    file, line = text.rsplit(":", 1)
    return file, int(line)


def ranks(case: Case, text: str) -> str:
    strange = [rank for rank in members(text) if rank not in case.witness.ranks]
    return f"the job has no rank {strange}" if strange else ""


def culprits(case: Case, text: str) -> str:
    """Blamed, if anybody is: of two sides of equal size neither may be."""
    blamed = case.diagnosis.culprits
    wrong = "" if not blamed or members(text) == blamed else f"blamed are {blamed}"
    return ranks(case, text) or wrong


def not_blamed(case: Case, text: str) -> str:
    both = [rank for rank in members(text) if rank in case.diagnosis.culprits]
    return ranks(case, text) or (f"ranks {both} are blamed" if both else "")


def side(case: Case, text: str) -> str:
    """One side of a divergence: the blamed ranks, or ranks of which none is blamed; the smaller side is."""
    here, blamed = members(text), case.diagnosis.culprits
    wrong = "" if here == blamed or not any(rank in blamed for rank in here) else f"blamed are {blamed}"
    return ranks(case, text) or wrong


def waiting(case: Case, text: str) -> str:
    idle = members(text) - case.diagnosis.waiting
    return ranks(case, text) or (f"ranks {idle} are not among the waiting" if idle else "")


def is_at(case: Case, text: str, *who: str) -> str:
    """The place occurs in what is known of each of the ranks; without ranks, of any, or in the source."""
    witness, where = case.witness, place(text)
    if not who:
        known = any(where in witness.places(rank) for rank in witness.ranks)
        return "" if known or (witness.line(where) or "").strip() else f"{text} occurs nowhere"
    return _of_each(
        case,
        members(who[0]),
        lambda rank: "" if where in witness.places(rank) else f"{text} occurs in nothing of rank {rank}",
    )


def step(case: Case, text: str, *who: str) -> str:
    if text == "nothing more":
        return ""
    what, at = text.split(" (by ")[0].rsplit(" at ", 1)
    kind = _STEPS.get(what, EventKind.CALL)
    asked = members(who[0]) if who else case.witness.ranks
    did = [rank for rank in asked if case.witness.did(rank, kind, what, place(at))]
    if who:
        return _of_each(case, members(who[0]), lambda rank: "" if rank in did else f"rank {rank} never did {text}")
    return "" if did else f"in no history: {text}"


def step_more(case: Case, text: str, who: str, others: str) -> str:
    """These went on to it and the others did not: they have not done it more often, in histories that are complete."""
    if wrong := step(case, text, who):
        return wrong
    witness = case.witness
    if text == "nothing more" or any(witness.lost(rank) for rank in (*members(who), *members(others))):
        return ""
    head, _, library = text.rstrip(")").partition(" (by ")
    what, at = head.rsplit(" at ", 1)
    by = place(library) if library else None
    times = {
        rank: witness.times(rank, _STEPS.get(what, EventKind.CALL), what, place(at), by)
        for rank in (*members(who), *members(others))
    }
    most = max(times[rank] for rank in members(others))
    return _of_each(
        case,
        members(who),
        lambda rank: "" if times[rank] >= most else f"rank {rank} has done less than the others: {text}",
    )


def loop(case: Case, text: str) -> str:
    return "" if place(text) in case.witness.loops() else f"no data loop is at {text}"


def seen_place(case: Case, text: str) -> str:
    known = any(place(text) in case.witness.places(rank) for rank in case.witness.ranks)
    return "" if known else f"no rank was at {text}"


def _compared(read: Callable[[Counters], int]) -> Callable[..., str]:
    """The others have no higher count than these."""

    def check(case: Case, text: str, others: str) -> str:
        if wrong := side(case, text):
            return wrong
        pages = {rank: seen.page for rank in case.witness.ranks if (seen := case.witness.of(rank)) and seen.page}
        most = max((read(pages[rank].counters) for rank in members(others) if rank in pages), default=-1)
        low = [rank for rank in members(text) if rank in pages and read(pages[rank].counters) < most]
        return f"ranks {low} have fewer than the others" if low else ""

    return check


def never(case: Case, text: str, who: str, others: str) -> str:
    """No call at a place, where others have made one."""
    if wrong := is_at(case, text, others):
        return wrong
    for rank in members(who):
        calls = (event for event in case.witness.events(rank) if event.kind is EventKind.CALL)
        if any(is_call_at.site and _same(is_call_at.site, text) for is_call_at in calls):
            return f"rank {rank} has made a call at {text}"
    return ""


def no_forward(case: Case, text: str, who: str, others: str) -> str:
    """No forward at a place, where others have run one."""
    if wrong := is_at(case, text, others):
        return wrong
    kinds = (EventKind.FORWARD, EventKind.FORWARD_NO_SYNC)
    for rank in members(who):
        if any(e.kind in kinds and e.site and _same(e.site, text) for e in case.witness.events(rank)):
            return f"rank {rank} has run a forward at {text}"
    return ""


def _same(site: object, text: str) -> bool:
    from ddpdoctor.model.stacks import Site
    from tests.statements.witness import place_of

    return isinstance(site, Site) and place_of(site) == place(text)


def is_in(case: Case, text: str, *who: str) -> str:
    """Each of the ranks is in this operation now, and at this place; without ranks, any is."""
    if text == "no known wait":
        return ""
    if parts := _apart(text):
        whole = RankSet.of(rank for _, named in parts for rank in members(named))
        missing = [rank for rank in members(who[0]) if rank not in whole] if who else []
        waits = [rank for rank in missing if case.witness.calls(rank)]
        wrong = (is_in(case, one, named) for one, named in parts)
        return f"nothing is said of ranks {waits}" if waits else next(filter(None, wrong), "")
    if who:
        return _of_each(case, members(who[0]), lambda rank: _rank_is_in(case, text, rank))
    found = [_rank_is_in(case, text, rank) for rank in sorted(case.witness.ranks)]
    return "" if "" in found else f"no rank is in {text}"


def _apart(text: str) -> list[tuple[str, str]]:
    """What is said of some, and of whom, in a text that says it of each."""
    found = re.findall(rf"(?:^|, | and )(.+?) \(({RANKS})\)", text)
    return [(one, named) for one, named in found]


def _of_each(case: Case, who: RankSet, wrong: Callable[[int], str]) -> str:
    """What is wrong of some of these ranks; and of which it is right, where it is said of all."""
    found = {rank: wrong(rank) for rank in who}
    right = [rank for rank, fault in found.items() if not fault]
    first = next((fault for fault in found.values() if fault), "")
    return f"{first}, as rank {right[0]} is" if first and right else first


def _rank_is_in(case: Case, text: str, rank: int) -> str:
    found = re.fullmatch(
        rf"(?P<op>{OP})(?: seq (?P<seq>\d+))?(?: (?:to|from) (?:rank (?P<peer>\d+)|any rank))?(?: at (?P<at>{PLACE}))?",
        text,
    )
    if found is None:
        return f"cannot be read: {text}"
    wrong = _not_in(case.witness, rank, found["op"], found["seq"], found["peer"])
    if not wrong and found["at"] and place(found["at"]) not in case.witness.now(rank):
        return f"rank {rank} is not at {found['at']}"
    return wrong


def _not_in(witness: Witness, rank: int, op: str, seq: str | None, peer: str | None) -> str:
    seen = witness.of(rank)
    calls = [call for call in witness.calls(rank) if call.op == op]
    entries = [entry for entry in witness.outstanding(rank) if op in (entry.op, _plain(entry.op))]
    functions = {site.function.rsplit(".", 1)[-1] for site in witness.sites(rank)}
    told = seen is not None and any(wait.op == op for wait in seen.reported)
    if not (calls or entries or told or op in functions or op == "backward"):
        return f"rank {rank} is not in {op}"
    if seq is not None and not _numbered(witness, rank, int(seq)):
        return f"rank {rank} has no operation {seq}"
    peers = {str(one) for one in (*(c.peer for c in calls), *(e.peer for e in entries)) if one is not None}
    if peer is not None and (calls or peers) and peer not in peers:
        return f"rank {rank} is in {op} with another rank than {peer}"
    return ""


def _numbered(witness: Witness, rank: int, seq: int) -> bool:
    seen = witness.of(rank)
    told = seen is not None and any(wait.seq == seq for wait in seen.reported)
    return told or any(entry.seq == seq for entry in witness.outstanding(rank))


def _plain(op: str) -> str:
    return op.strip("_").replace("allgather", "all_gather").replace("allreduce", "all_reduce")


def now(case: Case, text: str, who: str) -> str:
    verb, rest = text.replace("returned after the call", "returned", 1).split(" ", 1)
    if verb == "ended":
        alive = [r for r in members(who) if (seen := case.witness.of(r)) and seen.exit is None]
        if alive:
            return f"ranks {alive} have not ended"
    if rest.startswith("in "):
        return is_in(case, rest[3:], who)
    parts = _apart(rest) or [(rest, who)]
    return next(filter(None, (is_at(case, one.removeprefix("at "), named) for one, named in parts)), "")


def operation(case: Case, text: str, *who: str) -> str:
    """An operation that these ranks have called, or are in."""
    for rank in members(who[0]) if who else ():
        names = {event.call.op for event in case.witness.events(rank) if event.call}
        names |= {call.op for call in case.witness.calls(rank)} | {_plain(e.op) for e in case.witness.entries(rank)}
        names |= {entry.op for entry in case.witness.entries(rank)}
        names |= {site.function.rsplit(".", 1)[-1] for site in case.witness.sites(rank)}
        seen = case.witness.of(rank)
        names |= {wait.op for wait in seen.reported} if seen else set()
        if text not in names:
            return f"rank {rank} has not called {text}"
    return ""


def op_at(case: Case, text: str, at: str) -> str:
    """An operation that some rank has called at this place."""
    return step(case, f"{text} at {at}")


def reached(case: Case, text: str, who: str, others: str, at: str) -> str:
    """An operation that these have called at this place, and the others not more often."""
    return step_more(case, f"{text} at {at}", who, others)


def _groups_made(case: Case, rank: int) -> int:
    return sum(event.call is not None and event.call.op == "new_group" for event in case.witness.events(rank))


def groups_made(case: Case, text: str, whose: str) -> str:
    """Each of these has called for so many groups, in histories that are complete."""
    counts = {rank: _groups_made(case, rank) for rank in members(whose)}
    lost = [rank for rank in counts if case.witness.lost(rank)]
    wrong = {rank: count for rank, count in counts.items() if count != int(text)}
    return f"the histories of {lost} are not complete" if lost else f"they made {wrong}" if wrong else ""


def members_on(case: Case, text: str, name: str, whose: str) -> str:
    """The group of this name has these members on each of these ranks, which have it once."""
    for rank in members(whose):
        seen = case.witness.of(rank)
        own = [group.members for group in seen.page.groups if group.name == name] if seen and seen.page else []
        if own != [members(text).members]:
            return f"group {name} has {own} on rank {rank}"
    return ranks(case, text)


def more_groups(case: Case, text: str, others: str) -> str:
    """These have created more groups, in histories that are complete."""
    if any(case.witness.lost(rank) for rank in (*members(text), *members(others))):
        return ranks(case, text)
    most = max(_groups_made(case, rank) for rank in members(others))
    low = [rank for rank in members(text) if _groups_made(case, rank) < most]
    return ranks(case, text) or (f"ranks {low} have created fewer groups" if low else "")


def code(case: Case, text: str, *where: str) -> str:
    """Quoted code stands in the source, at the line if one is named; what is cut (`...`), with its beginning."""
    wanted = _squeezed(text.strip("`").removesuffix("...").rstrip(":"))
    if where:
        there = case.witness.line(place(where[0]))
        return "" if there is None or wanted in _squeezed(there) else f"{text} does not stand at {where[0]}"
    sources = case.witness.evidence.code.values()
    return "" if not sources or any(wanted in _squeezed(one.text) for one in sources) else f"{text} stands nowhere"


def taken(case: Case, text: str, at: str) -> str:
    """`if bad(loss): continue`, of which the last word is at the place and the condition in the lines before it."""
    condition, _, action = text.strip("`").partition(": ")
    file, line = place(at)
    there = case.witness.line((file, line))
    before = [case.witness.line((file, number)) or "" for number in range(max(line - 12, 1), line + 1)]
    if there is None:
        return ""
    found = any(_squeezed(condition) in _squeezed(one) for one in before)
    return "" if found and _squeezed(there).startswith(_squeezed(action)) else f"{text} does not stand at {at}"


def called(case: Case, text: str, at: str) -> str:
    """The line calls a function of this name, or a stack has it."""
    there = case.witness.line(place(at))
    return "" if there is None or text.rsplit(".", 1)[-1] in there else f"{at} does not call {text}"


def code_line(case: Case, text: str, quoted: str, near: str) -> str:
    """`(line N)`: where the code quoted before stands in the file of a place."""
    file, _ = place(near)
    return code(case, quoted, f"{file}:{text}")


def _squeezed(text: str) -> str:
    """Without spaces and with one kind of quotes: conditions are written as `ast.unparse` writes them."""
    return re.sub(r"\s+", "", text).replace('"', "'")


def function(case: Case, text: str, at: str) -> str:
    """The place is in this function."""
    found = [
        site
        for rank in case.witness.ranks
        for site in case.witness.sites(rank)
        if _same(site, at) and site.function and text.rsplit(".", 1)[-1] == site.function.rsplit(".", 1)[-1]
    ]
    return "" if found else f"{at} is not in {text}"


def _counted(read: Callable[[Counters], object]) -> Callable[..., str]:
    def check(case: Case, text: str, who: str) -> str:
        for rank in members(who):
            seen = case.witness.of(rank)
            if seen is None or seen.page is None:
                return f"rank {rank} has no page"
            found = read(seen.page.counters)
            if int(text) not in (found if isinstance(found, set) else {found}):
                return f"rank {rank}: {found}, not {text}"
        return ""

    return check


def call_count(case: Case, text: str, who: str, op: str, at: str) -> str:
    """How often a call was made, by the line itself or in a function that it calls, where the history is complete."""
    for rank in members(who):
        calls = [event for event in case.witness.events(rank) if event.call and event.call.op == op and event.site]
        events = [one for one in calls if any(_same(site, at) for site in (one.site, *one.path) if site)]
        if not case.witness.lost(rank) and len(events) != int(text):
            return f"rank {rank} has made {len(events)} calls, not {text}"
    return ""


def last_number(case: Case, text: str, who: str) -> str:
    """The number of the newest collective that the ranks' recorders hold, of one of their groups."""
    for rank in members(who):
        newest = {entry.group: entry.seq for entry in case.witness.entries(rank) if not entry.p2p}
        if int(text) not in newest.values():
            return f"rank {rank}: the last are {newest}, not {text}"
    return ""


def _number(name: str) -> int:
    return int(signal.Signals[name]) if name in signal.Signals.__members__ else int(name.removeprefix("signal "))


def ended_by(case: Case, text: str, who: str) -> str:
    seen = [case.witness.of(rank) for rank in members(who)]
    wrong = [one.rank for one in seen if one and (one.exit is None or one.exit.status != -_number(text))]
    return f"{wrong} did not end by it" if wrong or None in seen else ""


def told(case: Case, text: str, who: str) -> str:
    seen = [case.witness.of(rank) for rank in members(who)]
    wrong = [one.rank for one in seen if one and (one.exit is None or one.exit.told != _number(text))]
    return f"{wrong} were not sent it" if wrong or None in seen else ""


def alive(case: Case, text: str) -> str:
    seen = [case.witness.of(rank) for rank in members(text)]
    return "" if all(one and one.process and one.process.state not in "ZX" for one in seen) else "one has ended"


def launcher_status(case: Case, text: str) -> str:
    end = case.witness.evidence.end
    return "" if end and end.status == int(text) else f"it is {end}"


def launcher_signal(case: Case, text: str) -> str:
    return launcher_status(case, str(-_number(text)))


def memory_kills(case: Case, text: str) -> str:
    return "" if case.witness.evidence.memory_kills == int(text) else "the kernel counts others"


def pids(case: Case, text: str) -> str:
    living = {seen.worker.pid for seen in case.witness.evidence.ranks if seen.process}
    return "" if {int(pid) for pid in text.split()} <= living else "some are no pids of living ranks"


def status(case: Case, text: str, who: str) -> str:
    for rank in members(who):
        seen = case.witness.of(rank)
        if seen is None or seen.exit is None or seen.exit.status != int(text):
            return f"rank {rank} has not exited with {text}"
    return ""


def ended(case: Case, text: str, who: str) -> str:
    left = [
        r for r in members(who) if (seen := case.witness.of(r)) and seen.exit is None and not case.witness.raised(r)
    ]
    return ranks(case, who) or (f"ranks {left} have not ended" if left else "")


def raised(case: Case, text: str, who: str) -> str:
    """`KeyError: 'x'`, perhaps shortened."""
    name, _, message = text.rstrip(".").removesuffix(" ").partition(": ")
    start = message.split("\n")[0].removesuffix("...").strip()[:40]
    for rank in members(who):
        seen = case.witness.raised(rank)
        if not any(
            one.type.rsplit(".", 1)[-1] == name.rsplit(".", 1)[-1] and start in " ".join(one.message.split())
            for one in seen
        ):
            return f"rank {rank} has not raised {text}"
    return ""


def since_start(case: Case, text: str, who: str) -> str:
    """Seconds from the start of the job to an exception or the end of a rank."""
    value, began = float(text), case.witness.evidence.timing.started
    for rank in members(who):
        seen = case.witness.of(rank)
        times = [one.time for one in case.witness.raised(rank)]
        times += [seen.exit.time] if seen and seen.exit else []
        times += [seen.page.ending.time] if seen and seen.page and seen.page.ending else []
        if not any(abs(time - began - value) <= (0.06 if value < 10 else 0.6) for time in times):
            return f"rank {rank} did not fail or end {text} s after the start"
    return ""


def later(case: Case, text: str, who: str) -> str:
    """Seconds between the first exception of another rank and that of these."""
    others = [one.time for rank in case.witness.ranks - set(members(who)) for one in case.witness.raised(rank)]
    own = [one.time for rank in members(who) for one in case.witness.raised(rank)]
    near = any(abs(mine - other - float(text)) <= 0.06 for mine in own for other in others)
    return "" if near else f"{who} did not raise it {text} s later"


def said(case: Case, text: str) -> str:
    """The message of an exception, perhaps shortened."""
    start = " ".join(text.removesuffix("...").split())[:60].strip()
    messages = (" ".join(one.message.split()) for rank in case.witness.ranks for one in case.witness.raised(rank))
    return "" if any(start in one for one in messages) else f"nobody raised {text}"


def _moving(read: Callable[[Motion], float], tolerance: float) -> Callable[..., str]:
    def check(case: Case, text: str, who: str) -> str:
        for rank in members(who):
            seen = case.witness.of(rank)
            motions = [seen.motion, *(child.motion for child in seen.children)] if seen else []
            if not any(m and abs(read(m) - float(text)) <= tolerance for m in motions):
                return f"{text} was not measured at rank {rank}"
        return ""

    return check


def process(case: Case, text: str, *who: str) -> str:
    """A process: a rank's own, a child of it, or one that is related to what it waits for."""
    asked = members(who[0]) if who else case.witness.ranks
    known: set[int] = set()
    for rank in asked:
        seen = case.witness.of(rank)
        if seen is None:
            continue
        known |= {seen.worker.pid, *(child.worker.pid for child in seen.children)}
        for state in (seen.process, *(child.process for child in seen.children)):
            known |= {holder.pid for thread in (state.threads if state else ()) for holder in thread.holders}
            known |= {holder.pid for lock in (state.lock_files if state else ()) for holder in lock.holders}
        known |= {int(n) for one in case.witness.raised(rank) for n in re.findall(r"\d+", one.message)}
        known |= {int(n) for n in re.findall(r"\d+", seen.fatal)}
    return "" if int(text) in known else f"process {text} is not known"


def group(case: Case, text: str, *who: str) -> str:
    """A group that exists, of which these ranks are members; the first of them are in an operation of it."""
    if text == "the default group":
        return ""
    name, of = text.split("'")[1], members(text.split("' of ")[1])
    known = [g for g in case.witness.groups() if g.members == of.members and name in (g.name, g.description)]
    strange = [rank for one in who for rank in members(one) if rank not in of]
    if not known or strange:
        return f"ranks {strange} are not in {text}" if known else f"there is no {text}"
    names = {g.name for g in known}
    for rank in members(who[0]) if who else ():
        used = {call.group.name for call in case.witness.calls(rank) if call.group}
        if not names & (used | {entry.group for entry in case.witness.outstanding(rank)}):
            return f"rank {rank} is not in {text}"
    return ""


def sizes(case: Case, text: str) -> str:
    """`rank 1: 7, ranks 0,2: 9` elements, or their types."""
    for who, value in re.findall(rf"({RANKS}): (\w+)", text):
        if wrong := (elements if value.isdigit() else dtype)(case, value, who):
            return wrong
    return ""


def unseen(case: Case, text: str) -> str:
    shown = [r for r in members(text) if (seen := case.witness.of(r)) and (seen.page or seen.stacks or seen.recorder)]
    return ranks(case, text) or (f"ranks {shown} were seen" if shown else "")


def world(case: Case, text: str) -> str:
    size = case.witness.evidence.world_size
    return "" if int(text) == size else f"the job has {size} ranks"


def elements(case: Case, text: str, who: str) -> str:
    for rank in members(who):
        sizes = {call.numel for call in case.witness.calls(rank)} | {e.numel for e in case.witness.entries(rank)}
        sizes |= {event.call.numel for event in case.witness.events(rank) if event.call}
        if int(text.replace(",", "")) not in sizes:
            return f"rank {rank} passes no {text} elements"
    return ""


def root(case: Case, text: str, who: str) -> str:
    for rank in members(who):
        calls = (*case.witness.calls(rank), *(event.call for event in case.witness.events(rank) if event.call))
        if not any(call.root is not None and call.root == int(text) for call in calls):
            return f"rank {rank} has called nothing with root {text}"
    return ""


def tag(case: Case, text: str, who: str) -> str:
    """The tag of a send or receive in flight."""
    for rank in members(who):
        tags = {call.tag for call in case.witness.calls(rank)}
        if int(text) not in tags:
            return f"rank {rank} is in calls with the tags {tags}, not {text}"
    return ""


def dtype(case: Case, text: str, who: str) -> str:
    for rank in members(who):
        types = {str(call.dtype) for call in case.witness.calls(rank)}
        types |= {str(event.call.dtype) for event in case.witness.events(rank) if event.call}
        types |= {name for entry in case.witness.entries(rank) for name in entry.input_dtypes}
        if not any(text in one for one in types):
            return f"rank {rank} passes no {text}"
    return ""


def counts(case: Case, text: str, name: str) -> str:
    """`20 on rank 0 and 21 on ranks 1-3`, of a local variable."""
    for value, who in re.findall(rf"(-?\d+) on ({RANKS})", text):
        for rank in members(who):
            if (name, int(value)) not in case.witness.locals(rank):
                return f"{name} is not {value} on rank {rank}"
    return ""


def anything(case: Case, text: str, *_: str) -> str:
    """Free text, in which only the job's ranks are checked."""
    return next((wrong for found in re.findall(RANKS, text) if (wrong := ranks(case, found))), "")


_INT = r"\d+"
TYPES: Mapping[str, Type] = {
    "ranks": Type(RANKS, ranks),
    "culprits": Type(RANKS, culprits),
    "others": Type(RANKS, not_blamed),
    "side": Type(RANKS, side),
    "waiting": Type(RANKS, waiting),
    "unseen": Type(RANKS, unseen),
    "ended": Type(RANKS, lambda case, text: ended(case, text, text)),
    "place": Type(PLACE, is_at),
    "step": Type(STEP, step),
    "never": Type(PLACE, never),
    "no_forward": Type(PLACE, no_forward),
    "step_more": Type(STEP, step_more),
    "loop": Type(PLACE, loop),
    "seen_place": Type(PLACE, seen_place),
    "more_backwards": Type(RANKS, _compared(lambda c: c.backward_entered)),
    "more_forwards": Type(RANKS, _compared(lambda c: c.forwards)),
    "more_no_sync": Type(RANKS, _compared(lambda c: c.forwards_no_sync)),
    "sizes": Type(r".+", sizes),
    "wait": Type(WAIT, is_in),
    "now": Type(NOW, now),
    "op": Type(OP, operation),
    "op_at": Type(OP, op_at),
    "reached": Type(OP, reached),
    "more_groups": Type(RANKS, more_groups),
    "groups_made": Type(_INT, groups_made),
    "members_on": Type(RANKS, members_on),
    "code": Type(r"`[^`]*`", code),
    "taken": Type(r"`[^`]*`", taken),
    "called": Type(OP, called),
    "name": Type(OP, lambda case, text: ""),
    "code_line": Type(_INT, code_line),
    "function": Type(r"[\w.<>]+", function),
    "group": Type(GROUP, group),
    "delivered": Type(_INT, _counted(lambda c: {loader.delivered for loader in c.loaders})),
    "stops": Type(_INT, _counted(lambda c: {loader.stops for loader in c.loaders})),
    "length": Type(_INT, _counted(lambda c: {loader.length for loader in c.loaders})),
    "batches": Type(_INT, _counted(lambda c: c.delivered)),
    "forwards": Type(_INT, _counted(lambda c: c.forwards)),
    "all_forwards": Type(_INT, _counted(lambda c: c.forwards + c.forwards_no_sync)),
    "no_sync": Type(_INT, _counted(lambda c: c.forwards_no_sync)),
    "backwards": Type(_INT, _counted(lambda c: c.backward_entered)),
    "left": Type(_INT, _counted(lambda c: c.backward_left)),
    "calls": Type(_INT, call_count),
    "last_number": Type(_INT, last_number),
    "status": Type(r"-?\d+", status),
    "ended_by": Type(r"SIG\w+|signal \d+", ended_by),
    "told": Type(r"SIG\w+|signal \d+", told),
    "alive": Type(RANKS, alive),
    "launcher_status": Type(r"\d+", launcher_status),
    "launcher_signal": Type(r"SIG\w+|signal \d+", launcher_signal),
    "memory_kills": Type(_INT, memory_kills),
    "pids": Type(r"\d+(?: \d+)*", pids),
    "raised": Type(r"(?:[a-z_]\w*\.)*[A-Z]\w*(?:: .+)?", raised),
    "since_start": Type(r"\d+(?:\.\d+)?", since_start),
    "later": Type(r"\d+(?:\.\d+)?", later),
    "said": Type(r".+?", said),
    "cpu": Type(_INT, _moving(lambda m: 100 * m.cpu_share, 1.0)),
    "apart": Type(r"\d+(?:\.\d+)?", _moving(lambda m: m.seconds, 0.6)),
    "io": Type(r"\d+", _moving(lambda m: m.io_bytes, 1.0)),
    "process": Type(_INT, process),
    "world": Type(_INT, world),
    "elements": Type(r"[\d,]+", elements),
    "root": Type(_INT, root),
    "tag": Type(_INT, tag),
    "dtype": Type(r"\w+", dtype),
    "counts": Type(rf"-?\d+ on {RANKS}(?: and -?\d+ on {RANKS})*", counts),
    "number": Type(r"\d+(?:\.\d+)?", anything),
    "text": Type(r".+?", anything),
}
