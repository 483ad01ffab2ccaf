"""A recomputed part of the network goes backward more than once

## What it does
Finds `torch.utils.checkpoint.checkpoint` with `use_reentrant=True`, or without that argument, in a network in
DistributedDataParallel, where one forward pass recomputes the same part several times: in a loop, also of elements that
several turns share (`self.blocks[i // 2]`), or in two calls. And any such call in a network whose wrapper has
`find_unused_parameters=True`.

## Why it harms
A reentrant checkpoint makes a backward pass of its own when the backward pass comes to it. The wrapper is told of each
parameter once for each use, and stops all ranks at the second time: "Expected to mark a variable ready only once". With
`find_unused_parameters=True` the wrapper does not see what is inside a checkpoint, takes it for unused, and stops at
the first use. In one process, without the wrapper, the program runs.

## Example
```python
for i in range(12):
    x = checkpoint(self.blocks[i // 4], x, use_reentrant=True)
```

## Use instead
```python
for i in range(12):
    x = checkpoint(self.blocks[i // 4], x, use_reentrant=False)
```

## Fix safety
No automatic fix.

## When it is wrong
When the parameters of the part are frozen in another class than the one that has it. With `static_graph=True` it works,
and is not reported; neither are parts that only some turns recompute, loops that are left early, and functions that
stop gradients. Where an option decides whether anything is recomputed, the finding says so; it is a hint where nothing
in sight switches that on.

## References
https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import checkpointed_parts
from ddpdoctor.lint.facts.checkpointed_parts import Checkpointed
from ddpdoctor.lint.facts.module_facts import DDP_PATHS, Conditional, ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.program.modules import Module
from ddpdoctor.program.nodes import dotted, last_name
from ddpdoctor.program.sites import SourceSite, site_of
from ddpdoctor.program.text import text_of

RULE = LintRule(
    "DD188",
    "reentrant-checkpoint-under-ddp",
    Severity.ERROR,
    advice="pass use_reentrant=False to checkpoint()",
)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Parts of wrapped networks whose parameters get ready twice."""
    for wrap in facts.named(DDP_PATHS[0]):
        if wrap.args and not _is_static(wrap) and not facts.mentions("_set_static_graph"):
            calls = checkpointed_parts.found(facts.analysis, wrap.args[0])
            yield from _repeated(facts, wrap, calls)
            yield from _unused(facts, wrap, calls)


def _is_static(wrap: CallEvent) -> bool:
    static = wrap.keyword("static_graph")
    return wrap.opaque or (static is not None and static.constant is not False)


def _repeated(facts: ModuleFacts, wrap: CallEvent, calls: list[Checkpointed]) -> Iterator[Finding | None]:
    for one, first in checkpointed_parts.repeated(calls):
        said = (
            "DistributedDataParallel stops here in the backward pass: a reentrant checkpoint goes backward by itself, "
            "and a forward pass recomputes this part several times, so that its parameters get ready more than once"
        )
        before = ((_site(first), "and here"),) if first is not one else ()
        yield _told(facts, wrap, one, (said, before))


def _unused(facts: ModuleFacts, wrap: CallEvent, calls: list[Checkpointed]) -> Iterator[Finding | None]:
    """Of a wrapper that looks for unused parameters, the first checkpoint that every forward pass of a training comes
    to."""
    looks = wrap.keyword("find_unused_parameters")
    always = [one for one in calls if not checkpointed_parts.options(one)]
    if looks is not None and looks.constant is True and always:
        said = (
            "DistributedDataParallel stops here in the backward pass: with find_unused_parameters=True it takes what "
            "a reentrant checkpoint recomputes for unused, and then gets its gradients"
        )
        yield _told(facts, wrap, always[0], (said, ()))


def _told(
    facts: ModuleFacts, wrap: CallEvent, one: Checkpointed, told: tuple[str, tuple[tuple[SourceSite, str], ...]]
) -> Finding | None:
    said, before = told
    options = checkpointed_parts.options(one)
    condition = f"where `{text_of(options[0]) or 'an option'}` holds, " if options else ""
    on = all(_may_hold(facts, one.owner.module, option) for option in options)
    return facts.finding(
        *(RULE, _site(one), Conditional(condition, said)),
        related=(*before, (wrap.site, "wrapped here")),
        severity=(Severity.WARNING if on else Severity.HINT) if options else None,
        chain=(*wrap.context.chain, wrap.site),
    )


def _site(one: Checkpointed) -> SourceSite:
    return site_of(one.method.module, one.node)


def _may_hold(facts: ModuleFacts, module: Module, option: ast.expr) -> bool:
    """Whether something in sight may switch an option on: what is given or stored by its name is not only false."""
    name = last_name(option)
    return any(_switches_on(node, name) for one in {module.path: module, **facts.analysis.reached}.values()
               if name in one.words for node in one.nodes)  # fmt: skip


def _switches_on(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.keyword):
        return node.arg == name and not _is_off(node.value)
    if isinstance(node, (ast.Assign, ast.AugAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        named = any(dotted(t)[-1:] == [name] for t in targets)
        return named and not _is_off(node.value) and last_name(node.value) != name
    if isinstance(node, ast.arguments):
        return any(
            parameter.arg == name and isinstance(default, ast.Constant) and default.value is True
            for parameter, default in _defaults(node)
        )
    return False


def _defaults(arguments: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    positional = [*arguments.posonlyargs, *arguments.args]
    yield from zip(reversed(positional), reversed(arguments.defaults), strict=False)
    yield from zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)


def _is_off(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and not value.value
