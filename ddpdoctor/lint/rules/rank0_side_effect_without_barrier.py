"""Rank 0 creates a file that the others use without waiting for it

## What it does
Finds a path that only some ranks write, download, unpack or create, and that the others read or write later, without a
collective in between. Also finds what all ranks do at the same time after they have looked for a path: download to it,
remove it, link or move to it, write it in a data set that has found it missing, or give up because another rank has
just created it; and what they do where a path must be new, or was found by listing a folder: copy a folder to it, or
remove it. A data set of torchvision with `download=True` looks for its data, too. And it finds a folder that only some
ranks move elsewhere or remove, after the others have begun to write into it, with nothing that makes the former wait.

## Why it harms
Nothing makes the other ranks wait: they find no file, or half of one, or no folder any more. It works as long as rank 0
is fast, and fails on a slow disk or with a large download; the rank that raises then leaves the rest waiting for it.

## Example
```python
if rank == 0:
    download(path)
data = torch.load(path)
```

## Use instead
```python
if rank == 0:
    download(path)
dist.barrier()
data = torch.load(path)
```

## Fix safety
No automatic fix.

## When it is wrong
When something that lint cannot see makes the ranks wait, or, for what all ranks do, when all callers leave it to one
rank: where nothing in sight shows that all ranks come there, it is a hint, unless a program that trains on several
ranks fetches or builds its own data, or the callers are in the project and none of them leaves it to one rank. Creating
a folder is always a hint, and so is removing what the program makes only with the rank added to its name, what only
tests use, what needs a name that nothing in the repository mentions (`if data == "cifar10"`), or another one than its
commands and settings give where they start several ranks, also as a parameter, a file that a text has fetched before by
its address (`wget`, `curl`), and one that the repository has itself. So is what some ranks create and the others use if
one of both happens in a function that is called: at first looks one in ten of these places was a fault, because mostly
another file was meant or something in between made the others wait. And so is a folder of one rank in which the others
write only after they have run a network, which takes longer than making it, and what all ranks do where each has a
machine of its own.

Reading in a folder that was only created is not reported, nor are downloads that write under another name first or
stand in a hook that a framework runs on one rank, files that stay empty, nor a path in an attribute that only some
ranks store. What fills a folder, such as `save_pretrained`, makes it itself, and so does making a folder in it with
those around it. The rule is silent if there is a function in between whose name suggests that it synchronises, a
context such as `main_process_first`, a lock, or a loop that polls for the file, where the program ends if there is more
than one rank, and behind a function that ends the processes of the other ranks.

## References
https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.barrier
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import contended_paths, head_starts, launch, loaders, set_up_folders, touched_files
from ddpdoctor.lint.facts.attendance import Attendance
from ddpdoctor.lint.facts.contended_paths import Contended, Contest, Question
from ddpdoctor.lint.facts.exclusion import contradict
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts, shown_also
from ddpdoctor.lint.facts.touched_files import Touch
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import collectives, filesystem, heuristics
from ddpdoctor.lint.knowledge.filesystem import Use
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.program.nodes import last_name
from ddpdoctor.program.sites import SourceSite
from ddpdoctor.program.text import shown

RULE = LintRule(
    "DD124",
    "rank0-side-effect-without-barrier",
    Severity.WARNING,
    ("DD251",),
    advice="call a barrier between the write and the first use on other ranks",
)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Paths that some ranks write and others need, and those that all ranks look for and then change."""
    yield from _of_some(facts)
    yield from _too_early(facts)
    yield from _of_all(facts)


#: what the others may be at in a folder
_WRITING = frozenset({Use.WRITES_FILE, Use.FILLS, Use.MOVES})


def _too_early(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Folders that some ranks move or remove while others may still be writing into them."""
    taken = [touch for touch in touched_files.taken_away(facts) if touch.call.context.some_ranks_only]
    written = [touch for touch in touched_files.touches(facts) if touch.use in _WRITING] if taken else []
    for taking in taken:
        places = next((p for w in written if (p := _still_written(facts, w, taking)) is not None), None)
        if places is not None:
            message = (
                f"only some ranks take this folder away, and the others may still be writing into it, at line "
                f"{places[0].line}: put a barrier in between"
            )
            yield facts.finding(RULE, places[1], message, related=((places[0], "the others write into it here"),))


def _still_written(facts: ModuleFacts, writing: Touch, taking: Touch) -> tuple[SourceSite, SourceSite] | None:
    """(where the others write into a folder, where it is taken away), both in one function of this file."""
    late, folder = writing.call.context.mask & ~taking.call.context.mask, taking.parts
    if not late or len(writing.parts) <= len(folder) or writing.parts[: len(folder)] != folder:
        return None
    if writing.call.index > taking.call.index or heuristics.MAY_WAIT.found_in_any(taking.call.context.withs):
        return None
    if contradict((*writing.call.context.guards, *taking.call.context.guards)):
        return None
    places = _side_by_side(facts, writing.call, taking.call)
    if places is None or _waits(facts, *places) or _waits_within(facts, writing.call, taking.call, places):
        return None
    return None if _meet(facts, writing.call, taking.call, late) else places


#: a folder is made in an instant, and the ranks seldom meet there
_SELDOM = frozenset({Contest.MAKES})


#: what the program makes has the rank in its name, too
_LEFT = "if something has left it there, "
#: a setting decides, which this file does not show
_TOLD = "where it is told to download, "


def _of_all(facts: ModuleFacts) -> Iterator[Finding | None]:
    reported: set[SourceSite] = set()
    answered: dict[Question, CallEvent] = {}
    found = (*contended_paths.contended(facts), *contended_paths.data_sets(facts))
    # a function that is also followed from one which all ranks come to is told of as it is reached from there
    ordered = sorted(found, key=lambda one: one.attended.unsure)
    for call, contest, asked, attended, _ in ordered:
        place, question = facts.place(call), contended_paths.question(contest, asked)
        if place in reported or _is_answered(call, answered.get(question) if question is not None else None):
            continue
        reported.add(place)
        related = attended.related
        if asked is not None:
            related = ((asked.site, f"all ranks ask at the same time: {shown(asked.text)}"), *related)
        seldom = _seldom(facts, call, contest)
        severity = attended.severity if seldom is None else Severity.HINT
        if seldom not in (launch.IF_ONE_DISK, _TOLD) and _of_its_own_job(facts, contest, call):
            # where callers decide, the other files have to show that they leave it to nobody: at first looks, data sets
            # that build or download what they miss mostly found it, or were made by a tool of one process
            by_callers = attended.how is Attendance.POSSIBLE and not call.context.from_script
            by_callers = by_callers or (attended.unsure and contended_paths.chosen(call))
            severity = severity if by_callers else Severity.WARNING
        message = (
            f"all ranks {contest.value} at the same time, and what one does changes what the others find: let one rank "
            "do it, and the others wait at a barrier"
        )
        open_ = attended.open_at(facts, call) if severity is Severity.HINT and seldom is None else None
        if open_ is None and attended.how is Attendance.ELSEWHERE:
            continue
        told = facts.finding(
            RULE,
            call.site,
            Conditional(seldom or attended.condition, message),
            related=related,
            severity=severity,
            context=call.context,
            unconfirmed=open_,
        )
        if question is not None and severity is not Severity.HINT:
            answered.setdefault(question, call)
        here = [one for one in ordered if facts.place(one.call) == place or _is_of(question, call, one)]
        yield shown_also(told, (site for one in here for site in (one.call.site, *one.also)))
    yield from _late(facts, reported)


def _is_answered(call: CallEvent, told: CallEvent | None) -> bool:
    """Whether a call is told with another one: what that has made is there afterwards, and what else is made where it
    is missing is made with it. Not if only one of both can run."""
    return told is not None and not contradict((*told.context.guards, *call.context.guards))


def _is_of(question: Question | None, call: CallEvent, one: Contended) -> bool:
    """Whether something is told with a call that is under a question."""
    same = question is not None and contended_paths.question(one.contest, one.asked) == question
    return same and _is_answered(one.call, call)


def _late(facts: ModuleFacts, reported: set[SourceSite]) -> Iterator[Finding | None]:
    """Ranks that give up where another one has been faster."""
    for site, call, attended in contended_paths.asked_before(facts):
        place = facts.place(call)
        if place not in reported:
            reported.add(place)
            message = (
                f"a rank that is late finds what another one has created here, and gives up at line {site.line}: let "
                "all ranks ask before one of them creates it"
            )
            related = ((site, "who finds it there gives up"), *attended.related)
            yield facts.finding(
                RULE,
                call.site,
                Conditional(attended.condition, message),
                related=related,
                severity=attended.severity,
                context=call.context,
                unconfirmed=attended.open_at(facts, call),
            )


def _seldom(facts: ModuleFacts, call: CallEvent, contest: Contest) -> str | None:
    """What makes it a hint, as the beginning of a message; None if nothing does."""
    if contest is Contest.REMOVES and contended_paths.made_apart(facts, call):
        return _LEFT
    if contest is Contest.COMPLETES and contended_paths.may_download(call):
        return _TOLD
    if launch.is_one_on_each_node(facts):
        return launch.IF_ONE_DISK
    return "" if contest in _SELDOM else None


def _of_its_own_job(facts: ModuleFacts, contest: Contest, call: CallEvent) -> bool:
    """Whether the program fetches or builds what each rank of its own training needs."""
    fetched = contest in (Contest.FETCHES, Contest.COMPLETES)
    if fetched and contended_paths.of_every_rank(facts, call):
        return True
    own = contest is Contest.BUILDS or (fetched and call.context.from_script)
    return own and launch.trains_on_several(facts)


#: the others run a network before they need the folder
_AHEAD = "if making the folder takes longer than it takes the others to run their network, "


def _of_some(facts: ModuleFacts) -> Iterator[Finding | None]:
    touched = touched_files.touches(facts)
    writers = [t for t in touched if t.use in filesystem.CHANGES and t.call.context.some_ranks_only]
    if not writers:
        return
    for reader in touched:
        for writer in writers:
            places = _race(facts, writer, reader, touched)
            if places is not None:
                done, used = places
                message = (
                    f"only some ranks create this path, at line {done.line}, and the others use it here although "
                    "nothing makes them wait: put a barrier in between"
                )
                late = reader.call.context.mask & ~writer.call.context.mask
                here = places == (writer.call.site, reader.call.site)
                ahead = head_starts.has_head_start(facts, writer, reader, late)
                yield facts.finding(
                    RULE,
                    used,
                    Conditional(_AHEAD if ahead else "", message),
                    related=((writer.call.site, "created here, by some ranks"),),
                    severity=None if here and not ahead else Severity.HINT,
                )
                break


def _race(
    facts: ModuleFacts, writer: Touch, reader: Touch, touched: list[Touch]
) -> tuple[SourceSite, SourceSite] | None:
    """(where it is created, where it is used), both in one function of this file."""
    late = reader.call.context.mask & ~writer.call.context.mask
    if not late or not touched_files.needs(reader, writer) or reader.call.context.handler == "try":
        return None
    if contradict((*writer.call.context.guards, *reader.call.context.guards)) or heuristics.MAY_WAIT.found_in_any(
        writer.call.context.withs
    ):
        return None
    places = _side_by_side(facts, writer.call, reader.call)
    if (
        places is None
        or _left(writer.call, reader.call)
        or _waits(facts, *places)
        or _waits_within(facts, writer.call, reader.call, places)
    ):
        return None
    if _meet(facts, writer.call, reader.call, late) or (
        writer.use is Use.MAKES_FOLDER and set_up_folders.made_before(facts, writer.call)
    ):
        return None
    return None if any(_stands_for(t, writer, reader, late) for t in touched) else places


def _stands_for(made: Touch, writer: Touch, reader: Touch, late: int) -> bool:
    """Whether the others have created the path themselves before they need it, or a folder in it, with those around
    it."""
    if made.call.index >= reader.call.index or made.call is reader.call or late & ~made.call.context.mask:
        return False
    if made.parts == writer.parts:
        return made.use in filesystem.CHANGES
    return writer.use is Use.MAKES_FOLDER and touched_files.makes_around(made, writer.parts)


def _meet(facts: ModuleFacts, writer: CallEvent, reader: CallEvent, late: int) -> bool:
    """Whether it is written before a collective in which these ranks may wait: its group may not be known."""
    return any(
        c.path in collectives.COLLECTIVES and not late & ~c.context.mask
        for c in facts.calls
        if writer.index < c.index < reader.index
    )


def _left(writer: CallEvent, reader: CallEvent) -> bool:
    """The ranks that write leave the function: its callers may well let them go first."""
    ranked = {(g.site, g.side) for g in writer.context.guards if len(g.truth) > 1}
    return any(
        (g.site, not g.side) in ranked and reader.site.file == g.site.file and g.site.end_line < reader.site.line
        for g in reader.context.guards
    )


def _side_by_side(facts: ModuleFacts, writer: CallEvent, reader: CallEvent) -> tuple[SourceSite, SourceSite] | None:
    """The statements of the innermost common function through which they are reached, in this order."""
    if writer.context.calls[0] != reader.context.calls[0]:
        return None
    ways = ((*writer.context.chain, writer.site), (*reader.context.chain, reader.site))
    for done, used in zip(*ways, strict=False):
        if done == used:
            continue
        here = facts.module.path
        ordered = done.file == used.file == here and done.line < used.line
        return (done, used) if ordered and loaders.same_function(facts, done.line, used.line) else None
    return None


def _waits(facts: ModuleFacts, done: SourceSite, used: SourceSite) -> bool:
    """Between the two statements is a collective, or something that may be one."""
    here = facts.module.path
    if any(item.within(here, done.end_line + 1, used.line - 1) is not None for item in facts.reached):
        return True
    for node in facts.module.nodes:
        line = getattr(node, "lineno", 0)
        if not done.line <= line <= used.end_line:
            continue
        if isinstance(node, ast.While):
            return True
        if isinstance(node, ast.Call) and heuristics.MAY_WAIT.found_in(last_name(node.func)):
            return True
    return False


def _waits_within(
    facts: ModuleFacts, writer: CallEvent, reader: CallEvent, places: tuple[SourceSite, SourceSite]
) -> bool:
    """Whether the function that writes goes on to a collective, or to something that may be one, or the one that reads
    begins with it. What sums up the numbers that `evaluate(...)` then saves makes nobody wait for the file."""
    between = (c for c in facts.calls if writer.index < c.index < reader.index)
    inside = [c for c in between if not set(places).isdisjoint(c.context.chain)]
    meeting = {item.op.site for item in facts.reached} if inside else set[SourceSite]()
    return any(c.site in meeting or heuristics.MAY_WAIT.found_in(c.method or c.path.rpartition(".")[2]) for c in inside)
