"""A collective that also runs where no process group exists

## What it does
Finds scripts that create a process group under a condition (several GPUs, a flag, a launcher's variables) and later
call a collective, wrap a model in DDP or destroy the group under no such condition, also where the script starts
processes itself and calls their function directly for a single one; and collectives that only `is_available()` guards,
also what asks for the rank or the number of ranks. Of a class or function whose callers are not visible, it finds a
collective under no condition on the group, if other code of the class uses the group only where there is one
(`if self.is_ddp:`), or the function gets its rank from a helper which copes without a group. All are hints; that of a
script names where a script or text of the repository starts it without a launcher.

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
When the condition is always true wherever the script is used. Not reported are: a collective under a condition that may
be on the group or on the number of ranks, after an early return on one, or in a function with a decorator, and a script
whose other branch also creates a group or ends the program, or that asks the group for its rank under no condition.

## References
https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.is_initialized
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import blocks, devices, launch, single_process
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts, Unconfirmed
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import frameworks, heuristics
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Finding, RelatedRole, Severity
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.nodes import last_name
from ddpdoctor.program.sites import SourceSite
from ddpdoctor.program.text import text_of

RULE = LintRule(
    "DD123",
    "collective-without-initialised-guard",
    Severity.HINT,
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
    told: set[SourceSite | None] = set()
    for call in facts.concerning(lambda name: name in _ASKING or single_process.needs_group(name)):
        if call.site.file != facts.module.path or call.site in reported:
            continue
        condition = single_process.available_only(facts, call)
        if condition in told:
            continue
        if condition is not None and devices.default_group(call):
            reported.add(call.site)
            if call.path in _ASKING:
                told.add(condition)
            op = call.path.rpartition(".")[2]
            message = (
                f"is_available() says that torch can run on several ranks, not that it does: in a single process {op} "
                "raises here: check is_initialized()"
            )
            # what asks for the rank alone is often part of a sampler, which a single process has no use for
            severity = Severity.HINT if call.path in _ASKING else None
            yield facts.finding(RULE, call.site, message, related=((condition, "the condition"),), severity=severity)


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
    groups = _made_alone(facts)
    if not groups:
        return
    conditions = [_condition(facts, call) for call in groups]
    made_at = conditions[0]
    if any(c is None for c in conditions):
        return
    call = _first_unguarded(facts, groups[0])
    asked = _asks_group(facts, groups[0])
    if call is None or (asked is not None and asked.index < call.index):
        return  # nobody runs a script without a group that asks it for its rank first thing
    op = call.path.rpartition(".")[2]
    message = Conditional(
        "where it is started without a launcher: ",
        f"{op} also runs in a single process, where the condition at line {made_at.line if made_at else 0} creates no "
        "process group, and raises there: check is_initialized() first",
    )
    related = ((groups[0].site, "the process group is created here, under a condition"),)
    place = facts.place(call)
    # a script that starts it alone need not give the option that leads there
    always = not any(_guarded(facts, site) for site in _way(call))
    open_ = Unconfirmed(place, RelatedRole.UNSTARTED) if always else None
    yield facts.finding(RULE, place, message, related=related, severity=Severity.HINT, unconfirmed=open_)


def _made_alone(facts: ModuleFacts) -> list[CallEvent]:
    """Where the script makes its group, as it does it in one process; none if it always starts others."""
    made = [c for c in facts.named(_INIT) if c.context.from_script]
    # the way of one process, beside that of processes which are started: `else: worker(0, args)`
    alone = [c for c in made if not _is_spawned(facts, c)]
    both = {c.site for c in alone} & {c.site for c in made if _is_spawned(facts, c)}
    always = launch.starts_processes(facts) and not (both and _only_spawns(facts))
    return [] if always else alone


def _first_unguarded(facts: ModuleFacts, group: CallEvent) -> CallEvent | None:
    """The first collective of the script behind its group that is under no condition on the group."""
    behind = (c for c in facts.concerning(_fails_alone) if c.index >= group.index)
    ours = (c for c in behind if c.context.from_script and c.context.mask & 1 and not _is_spawned(facts, c))
    return next((c for c in ours if not any(_on_group(facts, s) for s in _way(c))), None)


def _way(call: CallEvent) -> tuple[SourceSite, ...]:
    return (*call.context.chain, call.site)


def _fails_alone(name: str) -> bool:
    """Whether what is called raises where there is no group."""
    return name == "torch.distributed.destroy_process_group" or single_process.needs_group(name)


def _is_spawned(facts: ModuleFacts, call: CallEvent) -> bool:
    spawns = {c.site for c in facts.named(*frameworks.SPAWNING)}
    return not spawns.isdisjoint(call.context.chain)


def _is_beside_spawn(facts: ModuleFacts, node: ast.AST, site: SourceSite) -> bool:
    """Whether the other side of a condition around a place starts processes: this one has the single process."""
    if not isinstance(node, ast.If) or not node.orelse:
        return False
    sides = [(side[0].lineno, side[-1].end_lineno or side[-1].lineno) for side in (node.body, node.orelse)]
    other = next((b for a, b in (sides, sides[::-1]) if a[0] <= site.line <= a[1]), None)
    spawns = (c.site for c in facts.named(*frameworks.SPAWNING) if c.site.file == site.file)
    return other is not None and any(other[0] <= spawn.line <= other[1] for spawn in spawns)


def _only_spawns(facts: ModuleFacts) -> bool:
    """Whether no other word in reach starts processes than the one whose function is followed."""
    return not any(facts.mentions(word) for word in heuristics.STARTS_PROCESSES.words if word != "spawn")


def _asks_group(facts: ModuleFacts, group: CallEvent) -> CallEvent | None:
    """Where the script asks the group for a rank or its size under no condition."""
    asking = (c for c in facts.named(*_ASKING) if c.index > group.index and c.context.from_script)
    return next((c for c in asking if not any(_guarded(facts, s) for s in (*c.context.chain, c.site))), None)


_ASKING = ("torch.distributed.get_world_size", "torch.distributed.get_rank")


def _condition(facts: ModuleFacts, call: CallEvent) -> SourceSite | None:
    """The condition under which the group is created; None if it is created on every path that continues."""
    for depth, site in enumerate((*call.context.chain, call.site)):
        module = blocks.module_of(facts, site)
        if module is None:
            return None
        for node in blocks.around(module, site):
            beside = _is_beside_spawn(facts, node, site)
            if isinstance(node, ast.If) and not beside and not _always(node.test) and not _other_side_copes(node, site):
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


def _on_group(facts: ModuleFacts, site: SourceSite) -> bool:
    """A condition that may be on the group, also of an early exit before it, a `try`, or a decorator."""
    module = blocks.module_of(facts, site)
    function = innermost_function(module.tree, site.line) if module is not None else None
    if module is None or (function is not None and function.decorator_list):
        return True
    around = [node for node in blocks.around(module, site) if not _is_beside_spawn(facts, node, site)]
    tests = [node.test if isinstance(node, (ast.If, ast.IfExp)) else node for node in around]
    tests += [node.test for node, _ in blocks.before(module, site)]
    return any(
        not isinstance(test, ast.expr)
        or (heuristics.ABOUT_GROUP.found_in(text_of(test)) and not _is_main(test) and not _is_first(facts, test))
        for test in tests
    )


def _is_first(facts: ModuleFacts, test: ast.expr) -> bool:
    """`args.rank == 0`, of an option that is 0 in a single process."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq) or len(test.ops) != 1:
        return False
    number, name = test.comparators[0], last_name(test.left)
    modules = facts.modules
    defaults = [option.default for module in modules for option in module.options.get(name, ())]
    return (
        isinstance(test.left, ast.Attribute)
        and heuristics.JOB_RANK.found_in(name)
        and _is_zero(number)
        and bool(defaults)
        and all(default is not None and _is_zero(default) for default in defaults)
    )


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0 and node.value is not False


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
