"""A name of torch.distributed that has been replaced

## What it does
Finds names that torch marks as deprecated in the selected version (`reduce_op`, `_all_gather_base`,
`all_gather_into_tensor` since 2.13, `checkpoint.save_state_dict`, ...), and `DataParallel` in a file that creates a
process group.

## Why it harms
Each call warns on every rank, and a later torch no longer has the name: the job ends with an AttributeError at the
first call, which may be hours into the run.

## Example
```python
dist.all_gather_into_tensor(output, tensor)
```

## Use instead
```python
dist.all_gather_single(output, tensor)
```

## Fix safety
Only names are changed, and only if the new function takes the same arguments. The fix is safe for names that torch has
had since 2.0, and unsafe for newer ones, because the program may also have to run on an older torch that lacks them.

## When it is wrong
When the code must also run on an older torch: use `--torch-version`. Names inside `try`, after `hasattr` or after a
version comparison are not reported.

## References
https://docs.pytorch.org/docs/stable/distributed.html#collective-functions
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import devices
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import aliases
from ddpdoctor.lint.knowledge.renames import Rename, asks_version, renamed
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Applicability, Edit, Finding, Fix, Severity
from ddpdoctor.program.modules import Module
from ddpdoctor.program.nodes import children
from ddpdoctor.program.sites import site_of

RULE = LintRule(
    "DD191",
    "deprecated-distributed-api",
    Severity.HINT,
    advice="use the name that torch's documentation gives in its place",
)

#: a name that came with this torch or before is there in every one that programs still run on
_EVERYWHERE = (2, 0)

#: nodes that name something imported
_NAMING = (ast.ImportFrom, ast.Import, ast.Attribute)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Old names without a preceding version test."""
    named = (node for kind in _NAMING for node in facts.module.of(kind))
    # most files have no old name, which costs less to see than where versions are tested
    if any(True for node in named for _ in _old_name(facts, node)):
        yield from _untested(facts)
    groups = facts.named(devices.GROUP)
    for call in facts.named("torch.nn.DataParallel", "torch.nn.parallel.DataParallel") if groups else ():
        if not any(_instead(call, group) for group in groups):
            message = "DataParallel runs threads in one process: use DistributedDataParallel in a process group"
            yield facts.finding(RULE, call.site, message, context=call.context)


def _untested(facts: ModuleFacts) -> Iterator[Finding | None]:
    stack: list[ast.AST] = [facts.module.tree]
    while stack:
        node = stack.pop()
        if asks_version(node):
            continue
        if isinstance(node, _NAMING):
            yield from _old_name(facts, node)
        # `torch.distributed._tensor.api` is one name
        if not (isinstance(node, ast.Attribute) and facts.module.imported(node)):
            stack.extend(children(node))


def _instead(call: CallEvent, group: CallEvent) -> bool:
    """On the other side of the condition under which the group is created: for a run that is not distributed."""
    return any(g.truth == other.truth and g.side != other.side for g in call.context.guards
               for other in group.context.guards)  # fmt: skip


def _old_name(facts: ModuleFacts, node: ast.AST) -> Iterator[Finding | None]:
    if isinstance(node, ast.ImportFrom) and not node.level:
        module = _found(facts, node.module or "")
        if module is not None:
            yield facts.finding(RULE, node, _message(*module))
            return
        for alias in node.names:
            found = _found(facts, f"{node.module}.{alias.name}")
            if found is not None:
                yield facts.finding(RULE, alias, _message(*found))
    elif isinstance(node, ast.Import):
        for alias in node.names:
            found = _found(facts, alias.name)
            if found is not None:
                yield facts.finding(RULE, alias, _message(*found))
    elif isinstance(node, ast.Attribute):
        found = _found(facts, facts.module.imported(node))
        if found is not None:
            named = _part(facts.module, node, found[0])
            yield facts.finding(RULE, named, _message(*found), fix=_fix(facts, named, found[1]))


def _found(facts: ModuleFacts, path: str) -> tuple[str, Rename] | None:
    """The old name that a dotted name is or lies in, with what it has become."""
    full = aliases.canonical(path)
    while full.startswith("torch.distributed."):
        found = renamed(full, facts.torch_version)
        if found is not None:
            return full, found
        full = full.rpartition(".")[0]
    return None


def _part(module: Module, node: ast.Attribute, old: str) -> ast.Attribute:
    """`dist.reduce_op` of `dist.reduce_op.SUM`."""
    while isinstance(node.value, ast.Attribute) and aliases.canonical(module.imported(node)) != old:
        node = node.value
    return node


def _message(old: str, found: Rename) -> str:
    since = ".".join(map(str, found.since))
    return f"{old.removeprefix('torch.distributed.')} is deprecated since torch {since}: use {found.new}"


def _fix(facts: ModuleFacts, node: ast.Attribute, found: Rename) -> Fix | None:
    old, new = facts.module.imported(node), found.new
    if not found.same or old.rpartition(".")[0] != new.rpartition(".")[0]:
        return None
    at = site_of(facts.module, node)
    start = at.end_column - len(node.attr)
    applicability = Applicability.SAFE if found.since <= _EVERYWHERE else Applicability.UNSAFE
    return Fix(applicability, (Edit(at.end_line, start, at.end_line, at.end_column, new.rpartition(".")[2]),))
