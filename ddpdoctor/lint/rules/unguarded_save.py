"""Every rank writes the same file

## What it does
Finds `torch.save`, `shutil.copy` and similar functions, the start of a run in an experiment tracker, and TensorBoard's
`SummaryWriter`, that every rank of a process group reaches with the same path. In a script, the calls from its top
level show that. In a function whose callers are not visible, a collective that runs in it without a condition on the
rank shows it, or another file that it leaves to some ranks, or its callers elsewhere in the project, if none of them is
under a condition that may be on the rank. Where nothing shows it, the finding is a hint. A condition on the rank that
lets several ranks through is found as well, and so is one that is asked before there is a process group: the
`is_main_process()` of most projects copes without a group, and is true then on every rank.

A run that a script starts beside a trainer of transformers is a warning where a script or text of the repository starts
it by a launcher, and otherwise a hint.

A file that is not written in a loop which trains, and does not hold the state of an optimizer, is a hint, too: in most
programs all ranks write the same then, and nobody reads it at that time. So is the state of networks and optimizers,
which ranks that train together hold alike, wherever it is written, unless the program reads, copies or moves that file
again in the same run: a rank then finds what another one is just writing. It is no hint where each rank writes its own
shards, or what it has found in its own part of the data, and nothing has gathered it: in a loop before, or batch by
batch in the steps of a module of Lightning. Hints are also curves that are
drawn on one rank alone, by a callback of a framework that does so, or under names that hold the rank.

## Why it harms
The ranks write one file at the same time: it contains parts from several of them, or one rank reads what another has
half written. A tracker gets one run per rank.

## Example
```python
for epoch in range(10):
    if train(model) > best:
        torch.save(model.state_dict(), "best.pt")
model.load_state_dict(torch.load("best.pt"))
```

## Use instead
```python
for epoch in range(10):
    if train(model) > best and dist.get_rank() == 0:
        torch.save(model.state_dict(), "best.pt")
dist.barrier()
model.load_state_dict(torch.load("best.pt"))
```

## Fix safety
No automatic fix: sharded models must be gathered by all ranks before one of them writes.

## When it is wrong
When each process runs in its own folder or file system. Paths that contain a rank, a host or a time, or come from a
function that lint does not know, are not reported; nor is code under any condition or decorator that may select a rank,
for a network in `DataParallel`, in a method that is replaced on some objects, or that is used elsewhere in a context
that lets the ranks through in turn; nor is a test that starts no ranks, nor a file that stays empty. A path made of a
loop's variable, or of what is called a user, a client or a sample, is a hint: it may be one of this rank's own. So are
a few tensors that were fetched to the CPU one by one, settings of the run and copies of the program's own files, which
are the same text from every rank, runs that the program keeps from the tracker, what only tests use, what is written
where each rank has a machine of its own, and what a script saves after the `train()` of a trainer of transformers,
which may be started as one process.

## References
https://docs.pytorch.org/tutorials/intermediate/ddp_tutorial.html#save-and-load-checkpoints
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import (
    all_ranks,
    attendance,
    contended_paths,
    early_questions,
    file_contents,
    files_read_again,
    launch,
    own_parts,
    parts_of_steps,
    paths,
    written_files,
)
from ddpdoctor.lint.facts.attendance import Attendance
from ddpdoctor.lint.facts.early_questions import Early
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts
from ddpdoctor.lint.interpreter import fsdp
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.values import Value
from ddpdoctor.model.finding import Finding, Related, Severity
from ddpdoctor.model.record import replace
from ddpdoctor.program.modules import FunctionInfo
from ddpdoctor.program.nodes import walk

RULE = LintRule(
    "DD171", "unguarded-save", Severity.WARNING, advice="write on one rank only, or to a path of each rank's own"
)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Writes to one path, and runs of a tracker, that all ranks reach: one finding for what is written together."""
    together: dict[tuple[object, ...], list[Finding]] = {}
    for call, finding in _each(facts):
        if finding is not None:
            together.setdefault((_place(call), finding.severity), []).append(finding)
    for (place, _), found in together.items():
        found.sort(key=lambda f: (f.line, f.column))
        yield from (_as_one(same) for same in ([found] if place is not None else _in_turn(found)))


def _place(call: CallEvent) -> FunctionInfo | None:
    """The function that writes, if it does nothing but save."""
    saving = call.context.function
    does_more = saving is None or any(isinstance(node, (ast.For, ast.While)) for node in walk(saving.node))
    return None if does_more else saving


def _in_turn(found: list[Finding]) -> list[list[Finding]]:
    """Those of which the same is said, in lines that follow one another."""
    runs: list[list[Finding]] = []
    for finding in found:
        last = runs[-1][-1] if runs else None
        follows = last is not None and finding.line <= last.end_line + 1 and finding.message == last.message
        if follows:
            runs[-1].append(finding)
        else:
            runs.append([finding])
    return runs


def _as_one(same: list[Finding]) -> Finding:
    first, *others = same
    beside = tuple(Related(other.file, other.line, "and this is written here") for other in others)
    return replace(first, related=(*first.related, *beside))


def _each(facts: ModuleFacts) -> Iterator[tuple[CallEvent, Finding | None]]:
    for call, path, node in written_files.files(facts):
        # what a program fetches or builds where it is missing has a rule of its own
        missing = contended_paths.fetches(call) or contended_paths.builds(call)
        if paths.one_path(facts, call, path, node) and not missing and not file_contents.stays_empty(facts, call):
            circumstance = _circumstance(facts, call, path, node)
            message = "every rank writes this file at the same time: let only rank 0 write it"
            if call.args and fsdp.holds_shards(facts.analysis, call.args[0]):
                circumstance = None
                message = "every rank writes its own shards to this one file: those of the others are lost"
            contents = file_contents.written_by(call)
            own = own_parts.collected(facts, call, contents) or parts_of_steps.collected(facts, call, contents)
            if own is not None:
                circumstance = None
                message = _OWN_PART
            yield call, _told(facts, call, message, circumstance)
    yield from _added(facts)
    for call, path, node in written_files.logs(facts):
        if paths.one_path(facts, call, path, node):
            message = "every rank writes its curves to this folder, where they are shown as one: let only rank 0 write"
            idle = written_files.draws_on_one_rank(facts) or written_files.is_handed_to_callback(facts, call)
            apart = written_files.draws_apart(facts)
            moment = written_files.in_folder_of_moment(call)
            yield call, _told(facts, call, message, _IDLE if idle else _APART if apart else _MOMENT if moment else None)
    for call in written_files.runs(facts):
        meant = call.opaque or any(call.keyword(k) is not None for k in ("group", "mode", "log_dir", "logdir"))
        if not meant and not call.args and call.path == "wandb.init":
            kept = _OFFLINE if _keeps_from_tracker(facts) else None
            yield call, _told(facts, call, "every rank starts its own run: let only rank 0 start one", kept)


def _keeps_from_tracker(facts: ModuleFacts) -> bool:
    modes = (setting.value for setting in facts.analysis.settings if setting.name == "WANDB_MODE")
    return any(mode.constant != "online" for mode in modes)


_OWN_PART = (
    "every rank writes what it has found in its own part of the data to this one file: what the others have found is "
    "lost, gather it before"
)


def _added(facts: ModuleFacts) -> Iterator[tuple[CallEvent, Finding | None]]:
    """What is added to a file: each rank may be meant to add something, but not where one is chosen."""
    for call, path, node in written_files.appended(facts):
        early = early_questions.asked_too_early(facts, call)
        if early is not None and paths.one_path(facts, call, path, node):
            yield call, _too_early(facts, call, "every rank writes to this file", early, Severity.HINT)


def _by_several(facts: ModuleFacts, call: CallEvent, message: str, circumstance: str | None) -> Finding | None:
    """A condition on the rank that lets through more ranks than the one that was meant; a hint where a circumstance is
    named."""
    several = attendance.by_several(facts, call)
    if several is None:
        return None
    ranks, condition = several
    who = f"ranks {', '.join(map(str, ranks[:-1]))} and {ranks[-1]}"
    message = message.replace("every rank writes", f"{who} all write").replace("every rank starts", f"{who} all start")
    related = ((condition, "more than one rank passes here"),)
    severity = Severity.WARNING if circumstance is None else Severity.HINT
    told = Conditional(circumstance or "", message)
    return facts.finding(RULE, call.site, told, related=related, severity=severity, context=call.context)


def _too_early(facts: ModuleFacts, call: CallEvent, does: str, early: Early, severity: Severity) -> Finding | None:
    message = f"{does}, since it is asked for the first one before there is a process group: make the group before"
    related = (
        (early.guard.site, "without a group every rank is told here that it is the first"),
        (early.made, "the group is made here"),
    )
    return facts.finding(RULE, call.site, message, related=related, severity=severity, context=call.context)


#: of curves that are drawn on one rank alone
_IDLE = ""
#: of curves that each rank draws under names of its own
_APART = "if the names of the curves do not tell the ranks apart, "
#: of a writer that names its folder after the second and the machine
_MOMENT = "where several ranks of a machine come here in the same second, "
#: of runs that the program does not send to the tracker
_OFFLINE = "if these runs are sent to the tracker, "
_SAMPLE = "unless the ranks go through different data here, "
#: a rank that reads what another one is just writing gets a part of it, or nothing
_SETTINGS = "if a rank reads these settings before all have written them, "
#: most programs write the same text on all ranks, and nobody reads it while they run
_RESULT = "if what the ranks write differs, or is read or kept half written, "
#: networks that ranks train together, and their optimizers, are equal on all of them
_ALIKE = "if the ranks do not hold the same state, or one reads it half written or is stopped while it writes, "


def _circumstance(facts: ModuleFacts, call: CallEvent, path: Value, node: ast.expr | None) -> str | None:
    """What makes a write by all ranks do no harm, or only seldom, as the beginning of a message."""
    if paths.of_sample(facts, call, node):
        return _SAMPLE
    if file_contents.of_settings(facts, call):
        return _SETTINGS
    if file_contents.lies_on_cpu(call):
        return _RESULT
    resumed = file_contents.holds_optimizer(facts, call)
    if not resumed and not _while_training(facts, call):
        return _RESULT
    alike = file_contents.holds_state(facts, call) and not files_read_again.read_again(facts, call, path, node)
    return _ALIKE if alike else None


def _while_training(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether a loop around the call goes backward as well, or a trainer does: a checkpoint, from which the job is
    resumed."""
    if all_ranks.keeps_checkpoint(facts, call):
        return True
    trained = {loop.node for event in facts.methods("backward") for loop in event.context.loops}
    return any(loop.node in trained for loop in call.context.loops)


def _told(facts: ModuleFacts, call: CallEvent, message: str, circumstance: str | None = None) -> Finding | None:
    """The finding, if all ranks come there; a hint where a circumstance is named."""
    if circumstance is None and launch.is_one_on_each_node(facts):
        circumstance = launch.IF_ONE_DISK
    attended = attendance.on_every_rank(facts, call, ever=call.path in written_files.RUNS)
    early = early_questions.asked_too_early(facts, call) if attended is None else None
    if early is not None:
        sure = Severity.WARNING if circumstance is None else Severity.HINT
        return _too_early(facts, call, message.partition(":")[0], early, sure)
    if attended is None:
        # who left it to some ranks meant one of them, whenever it is written
        return _by_several(facts, call, message, None if circumstance in (_RESULT, _ALIKE) else circumstance)
    severity = Severity.HINT if circumstance is not None else attended.severity
    condition = circumstance or attended.condition
    own = [site for site in call.context.chain if site.file == facts.module.path]
    way = ((own[-1], "every rank calls it here"),) if own and own[-1] != call.site else ()
    related = (*attended.related, *way)
    open_ = None if circumstance is not None else attended.open_at(facts, call)
    if open_ is None and attended.how is Attendance.ELSEWHERE:
        return None
    return facts.finding(
        RULE,
        call.site,
        Conditional(condition, message),
        related=related,
        severity=severity,
        context=call.context,
        unconfirmed=open_,
    )
