"""A name that each rank generates for something that all ranks write together

## What it does
Finds a clock, a UUID, words that each rank draws, a temporary folder or a process id in the path of a collective save
(distributed checkpoint, Accelerate's `save_state`, DeepSpeed's `save_checkpoint`, Fabric's `save`), in the folder to
which each rank saves its part, and in the file through which the ranks find each other. Also finds folders that all
ranks make under a number that each of them counts: `len(os.listdir(root))`; and, as a hint, those that all ranks make
under a time of day. And it finds files that some ranks alone write under such a name, and that all of them read.

## Why it harms
Each rank calls the function itself and gets a different value. The checkpoint is split over several folders, none of
them complete. With a clock this happens only if the ranks are on two sides of a second, so it shows only occasionally.
Ranks that look for each other in different files wait for ever, and those that look for the best checkpoint of rank 0
in a folder of their own fail when the training is over.

## Example
```python
folder = f"checkpoints/{time.strftime('%H%M%S')}"
torch.distributed.checkpoint.save(state, checkpoint_id=folder)
```

## Use instead
```python
name = [time.strftime("%H%M%S")]
dist.broadcast_object_list(name, src=0)
torch.distributed.checkpoint.save(state, checkpoint_id=f"checkpoints/{name[0]}")
```

## Fix safety
No automatic fix.

## When it is wrong
When a function that lint cannot see makes the value equal afterwards. A field of settings that are read from somewhere,
and that is made up where they have none, is a hint. Names of logs, values that only one rank uses,
and values that are broadcast or passed to all ranks by a parent process are not reported.

## References
https://github.com/Lightning-AI/pytorch-lightning/issues/15304
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from ddpdoctor.lint.facts import attendance, paths, unfound_files
from ddpdoctor.lint.facts.attendance import Attendance
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import filesystem, heuristics
from ddpdoctor.lint.knowledge.filesystem import Use
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.tags import DRAWN_UP, MADE_UP, Tag, Tags
from ddpdoctor.lint.values.values import Value
from ddpdoctor.model.finding import Finding, Severity

RULE = LintRule(
    "DD125",
    "rank-divergent-shared-value",
    Severity.WARNING,
    ("DD262",),
    advice="choose the name on one rank and broadcast it",
)

_CHECKPOINT = "torch.distributed.checkpoint."
#: collective saves: (position, name) of the path
_SAVES: dict[str, tuple[int, str]] = {
    f"{_CHECKPOINT}save": (-1, "checkpoint_id"),
    f"{_CHECKPOINT}async_save": (-1, "checkpoint_id"),
    f"{_CHECKPOINT}FileSystemWriter": (0, "path"),
    f"{_CHECKPOINT}filesystem.FileSystemWriter": (0, "path"),
    f"{_CHECKPOINT}FsspecWriter": (0, "path"),
}
#: the same as methods, by the class that has them
_METHODS: dict[tuple[str, str], tuple[int, str]] = {
    ("accelerate.Accelerator", "save_state"): (0, "output_dir"),
    ("lightning.fabric.Fabric", "save"): (0, "path"),
}


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Saves and rendezvous files whose name differs between ranks."""
    for call in facts.concerning(_may_save):
        if call.context.mask.bit_count() < 2:
            continue
        path = _shared(facts, call)
        if path is not None and path.tags & DRAWN_UP:
            message = f"{_who(path.tags)}, so the ranks save to different places: broadcast the name from rank 0"
            said = Conditional(_unless(path.tags), message)
            yield facts.finding(RULE, call.site, said, context=call.context, severity=_severity(path.tags))
        elif _folder_of_parts(call):
            message = (
                "each rank generates its own folder name, so the parts that the ranks save end up in "
                "different folders: broadcast the name from rank 0"
            )
            yield facts.finding(RULE, call.site, message, context=call.context)
    yield from _folders(facts)
    yield from _unfound(facts)
    yield from _meeting_points(facts)


def _folders(facts: ModuleFacts) -> Iterator[Finding | None]:
    """`run_7` is made by all ranks, each of which counts the folders that are there, or `run_1205`, by its clock."""
    for call in facts.concerning(_may_make_folder):
        row = filesystem.function(call.path) if call.path else filesystem.OF_PATHS.get(call.method)
        if row is None or row.use is not Use.MAKES_FOLDER:
            continue
        path, node = paths.path_of(call)
        numbered = paths.numbered(call, node)
        dated = not numbered and path is not None and path.tags & Tag.TIME
        attended = attendance.on_every_rank(facts, call, fetches=True) if numbered or dated else None
        if attended is None or (dated and attended.how not in _SEEN):
            continue
        yield facts.finding(
            RULE,
            call.site,
            _DATED if dated else Conditional(attended.condition, _NUMBERED),
            related=attended.related,
            severity=Severity.HINT if dated else attended.severity,
            context=call.context,
            unconfirmed=None if dated else attended.open_at(facts, call),
        )


#: with a clock, only what the file itself shows that all ranks do
_SEEN = (Attendance.PROVED, Attendance.SHOWN)
_NUMBERED = (
    "each rank counts what is in a folder for this name, and counts what other ranks have made meanwhile, so the ranks "
    "use different folders: broadcast the name from rank 0"
)
_ON_TWO_SIDES = "where the ranks come here on two sides of a second or minute, "
_DATED = Conditional(
    _ON_TWO_SIDES,
    "each makes a folder of its own, by its own clock: broadcast the name from rank 0",
)


def _unfound(facts: ModuleFacts) -> Iterator[Finding | None]:
    """`run = uuid4().hex` on each rank: what rank 0 saves in its folder, the others do not find in theirs."""
    for one in unfound_files.found(facts):
        by_clock = one.tags & DRAWN_UP == Tag.TIME
        what = "the others look for it under a name of their own and fail: broadcast the name from rank 0"
        message = (
            Conditional(_ON_TWO_SIDES, f"some ranks alone write this, and {what}")
            if by_clock
            else Conditional(_unless(one.tags), f"{_who(one.tags)}, some ranks alone write this, and {what}")
        )
        yield facts.finding(
            RULE,
            one.reader.site,
            message,
            related=((one.writer.site, "written here"),),
            severity=Severity.HINT if by_clock else _severity(one.tags),
            context=one.reader.context,
        )


def _who(tags: Tags) -> str:
    by_clock = tags & DRAWN_UP == Tag.TIME
    return "each rank reads its own clock for this name" if by_clock else "each rank gets a different name"


def _severity(tags: Tags) -> Severity | None:
    """A hint where it cannot be seen whether something gives the name."""
    return Severity.HINT if tags & Tag.MAYBE else None


def _unless(tags: Tags) -> str:
    """What has to be otherwise for a name to be made up: a field of settings may be given, too."""
    return "unless the settings give the name, " if tags & Tag.MAYBE else ""


def _may_save(name: str) -> bool:
    """Whether a call of this name can be one of a save."""
    known = name in _SAVES or name in filesystem.RESULTS or name == ".save_checkpoint"
    return known or any(name == f".{method}" for _, method in _METHODS)


@lru_cache(maxsize=1 << 12)
def _may_make_folder(name: str) -> bool:
    row = filesystem.OF_PATHS.get(name[1:]) if name.startswith(".") else filesystem.function(name)
    return row is not None and row.use is Use.MAKES_FOLDER


def _shared(facts: ModuleFacts, call: CallEvent) -> Value | None:
    place = _SAVES.get(call.path)
    if place is None and not call.path:
        made = call.receiver.object if call.receiver is not None else None
        if isinstance(made, Made):
            place = _METHODS.get((made.path, call.method))
        if place is None and call.method == "save_checkpoint" and _uses_deepspeed(facts):
            return next((v for v in (*call.args, *(v for _, v in call.keywords)) if v.tags & DRAWN_UP), None)
    return call.argument(*place) if place is not None else None


def _uses_deepspeed(facts: ModuleFacts) -> bool:
    modules = facts.modules
    return any("deepspeed" in module.words for module in modules)


def _folder_of_parts(call: CallEvent) -> bool:
    """`torch.save(part, os.path.join(<a folder of this moment>, f"rank{rank}.pt"))`."""
    row = filesystem.RESULTS.get(call.path)
    path = call.argument(row.position, row.name) if row is not None else None
    obj = path.object if path is not None else None
    if not isinstance(obj, Made) or obj.path != "os.path.join" or len(obj.args) < 2:
        return False
    folder, *names = obj.args
    ranked = any(n.tags & Tag.RANK for n in names) and not folder.tags & Tag.RANK
    return ranked and bool(folder.tags & MADE_UP)


def _meeting_points(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Temporary files used as the rendezvous of ranks that were started one by one."""
    if facts.suggests(heuristics.STARTS_PROCESSES, heuristics.FORKS):
        return
    for call in facts.named("torch.distributed.init_process_group", "torch.distributed.FileStore"):
        name = "init_method" if call.path.endswith("group") else "file_name"
        where = call.argument(1, name) if name == "init_method" else call.argument(0, name)
        if where is None or not where.tags & MADE_UP or call.context.mask.bit_count() < 2 or _alone(call):
            continue
        message = "every rank generates its own rendezvous file, so no rank finds the others: all must use one path"
        yield facts.finding(RULE, call.site, message, context=call.context)


def _alone(call: CallEvent) -> bool:
    """A group of one process."""
    size = call.keyword("world_size") or (call.argument(1, "world_size") if call.path.endswith("Store") else None)
    return size is None or size.constant == 1
