"""A collective that also runs where no process group exists

## What it does
Finds scripts that create a process group under a condition (several GPUs, a flag, a launcher's variables) and later
call a collective or wrap a model in DDP unconditionally, and collectives that only `is_available()` guards. A class or
function whose callers are not visible gets a hint: for a collective under no condition on the group, if other code of
the class uses the group only where there is one (`if self.is_ddp:`), or the function gets its rank from a helper which
copes without a group. A script gets a hint, too, and a warning where a script or text of the repository starts it
without a launcher.

## Why it harms
Started as a single process, the script raises "Default process group has not been initialized" at that line, often only
at the end of the first epoch. The script cannot be tested on one GPU before the launch.

## Example
```python
if args.distributed:
    dist.init_process_group("nccl")
train(model)
dist.barrier()
```

## Use instead
```python
if args.distributed:
    dist.init_process_group("nccl")
train(model)
if dist.is_initialized():
    dist.barrier()
```

## Fix safety
No automatic fix.

## When it is wrong
When the condition is always true wherever the script is used. Not reported are: a collective under any condition, after
an early return, or in a function with a decorator, and a script whose other branch also creates a group or ends the
program, or that asks the group for its rank under no condition.

## References
https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.is_initialized
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import blocks, devices, single_process
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts, Unconfirmed
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Finding, RelatedRole, Severity
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.nodes import last_name
from ddpdoctor.program.sites import SourceSite
from ddpdoctor.program.text import text_of

RULE = LintRule(
    "DD123",
    "collective-without-initialised-guard",
    Severity.WARNING,
    advice="call it only under torch.distributed.is_initialized()",
)

_INIT = "torch.distributed.init_process_group"


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Unconditional collectives of a script, or of a class, whose process group is conditional."""
    script = list(_of_script(facts))
    yield from script or [*_of_available(facts), *_of_parts(facts)]


def _of_available(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Collectives that are guarded by a question which torch nearly always answers with yes."""
    if facts.suggests(heuristics.STARTS_GROUP):
        return
    reported: set[SourceSite] = set()
    for call in facts.concerning(single_process.needs_group):
        if call.site.file != facts.module.path or call.site in reported:
            continue
        condition = single_process.available_only(facts, call)
        if condition is not None and devices.default_group(call):
            reported.add(call.site)
            op = call.path.rpartition(".")[2]
            message = (
                f"is_available() says that torch can run on several ranks, not that it does: in a single process {op} "
                "raises here: check is_initialized()"
            )
            yield facts.finding(RULE, call.site, message, related=((condition, "the condition"),))


def _of_parts(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Collectives of functions whose callers are not visible, beside code that asks whether there is a group."""
    reported: set[SourceSite] = set()
    for call in facts.concerning(single_process.needs_group):
        if call.context.from_script or call.context.some_ranks_only:
            continue
        if call.site.file != facts.module.path or call.site in reported or not devices.default_group(call):
            continue
        asked = single_process.asked(facts, call) or single_process.helped(facts, call)
        if asked is None or not single_process.unguarded(facts, call):
            continue
        reported.add(call.site)
        op = call.path.rpartition(".")[2]
        message = (
            f"if this also runs in a single process, as line {asked.line} provides for, there is no process group and "
            f"{op} raises: check is_initialized() first"
        )
        related = ((asked, "here there may be no process group"),)
        # whether anybody calls this without a group is for its callers to say, and they are not seen
        yield facts.finding(RULE, call.site, message, related=related, severity=Severity.HINT)


def _of_script(facts: ModuleFacts) -> Iterator[Finding | None]:
    groups = [c for c in facts.named(_INIT) if c.context.from_script]
    if not groups or _starts_others(facts):
        return
    conditions = [_condition(facts, call) for call in groups]
    if any(c is None for c in conditions):
        return
    call = _first_unguarded(facts, groups[0])
    asked = _asks_group(facts, groups[0])
    if call is None or (asked is not None and asked.index < call.index):
        return  # nobody runs a script without a group that asks it for its rank first thing
    op = call.path.rpartition(".")[2]
    made = conditions[0]
    message = Conditional(
        "where it is started without a launcher: ",
        f"{op} also runs in a single process, where the condition at line {made.line if made else 0} creates no "
        "process group, and raises there: check is_initialized() first",
    )
    related = ((groups[0].site, "the process group is created here, under a condition"),)
    place = facts.place(call)
    open_ = Unconfirmed(place, RelatedRole.UNSTARTED)
    yield facts.finding(RULE, place, message, related=related, severity=Severity.HINT, unconfirmed=open_)


def _first_unguarded(facts: ModuleFacts, group: CallEvent) -> CallEvent | None:
    """The first collective of the script behind its group that is under no condition."""
    behind = (c for c in facts.concerning(single_process.needs_group) if c.index >= group.index)
    ours = (c for c in behind if c.context.from_script)
    return next((c for c in ours if not any(_guarded(facts, s) for s in (*c.context.chain, c.site))), None)


def _asks_group(facts: ModuleFacts, group: CallEvent) -> CallEvent | None:
    """Where the script asks the group for a rank or its size under no condition."""
    asking = (c for c in facts.named(*_ASKING) if c.index > group.index and c.context.from_script)
    return next((c for c in asking if not any(_guarded(facts, s) for s in (*c.context.chain, c.site))), None)


_ASKING = ("torch.distributed.get_world_size", "torch.distributed.get_rank")


def _starts_others(facts: ModuleFacts) -> bool:
    """Processes are started from here: each of them reaches the group."""
    return facts.suggests(heuristics.STARTS_PROCESSES)


def _condition(facts: ModuleFacts, call: CallEvent) -> SourceSite | None:
    """The condition under which the group is created; None if it is created on every path that continues."""
    for depth, site in enumerate((*call.context.chain, call.site)):
        module = blocks.module_of(facts, site)
        if module is None:
            return None
        for node in blocks.around(module, site):
            if isinstance(node, ast.If) and not _always(node.test) and not _other_side_copes(node, site):
                return site
        for node, exit_ in blocks.before(module, site):
            if depth and isinstance(exit_, ast.Return) and not _always(node.test):
                return site
    return None


def _always(test: ast.expr) -> bool:
    return heuristics.SAYS_NOTHING_OF_SIZE.found_in(text_of(test))


def _other_side_copes(node: ast.If, site: SourceSite) -> bool:
    """The other side also creates a group, or leaves."""
    first, last = node.body[0].lineno, node.body[-1].end_lineno or 0
    other = node.orelse if first <= site.line <= last else node.body
    if any(blocks.leaves(s) for s in other[-1:]):
        return True
    return heuristics.MAKES_GROUP.found_in_any(last_name(n) for s in other for n in ast.walk(s))


def _guarded(facts: ModuleFacts, site: SourceSite) -> bool:
    """Any condition at all, an early exit before it, or a decorator."""
    module = blocks.module_of(facts, site)
    if module is None:
        return True
    function = innermost_function(module.tree, site.line)
    if function is not None and function.decorator_list:
        return True
    tests = [node for node in blocks.around(module, site) if not (isinstance(node, ast.If) and _is_main(node.test))]
    return bool(tests) or bool(blocks.before(module, site))


def _is_main(test: ast.expr) -> bool:
    return "__name__" in text_of(test)
