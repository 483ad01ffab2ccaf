"""The second of two backward passes averages nothing

## What it does
Finds two backward passes through a network in DistributedDataParallel with no forward pass between them.

## Why it harms
A forward pass prepares the wrapper for one averaging of all gradients, and the first backward pass that reaches all
parameters finishes it. What a second one adds stays on its own rank: the sum differs between the ranks, each takes
another step, and the replicas drift apart. Nothing is reported. This is so as well where each loss comes from a forward
pass of its own, if both forward passes are made before the first backward pass.

## Example
```python
out = ddp(x)
first(out).backward(retain_graph=True)
second(out).backward()
optimizer.step()
```

## Use instead
```python
out = ddp(x)
(first(out) + second(out)).backward()
optimizer.step()
```
or one forward pass before each backward pass.

## Fix safety
No automatic fix.

## When it is wrong
When a forward pass between the two is in code that could not be followed, or the second loss reaches none of the
network's parameters. A program with several wrapped networks, one that averages gradients itself, `static_graph=True`,
and a first pass that is restricted to some `inputs` or made under `no_sync` are not reported, nor are two with another
network's forward pass between them that is given the outputs detached.

## References
https://docs.pytorch.org/docs/stable/notes/ddp.html#internal-design
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set
from itertools import pairwise

from ddpdoctor.lint.facts import averaged_gradients, blocks, exclusion
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter import contexts, wrapping
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import frameworks
from ddpdoctor.lint.ranks.order import surely_before
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import symbol_key
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.program.nodes import last_name

RULE = LintRule(
    "DD160",
    "second-backward-not-averaged",
    Severity.WARNING,
    advice="add the losses and go backward once, or go forward again before the second pass",
)

#: two backward passes, in their order
_Pair = tuple[CallEvent, CallEvent]
_WRAPPER = "torch.nn.parallel.DistributedDataParallel"


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Pairs of backward passes of one function without a forward pass between them."""
    wrapped = facts.named(_WRAPPER)
    if not wrapped or not _is_one(wrapped):
        return
    passes = [c for c in facts.methods("backward") if c.receiver is not None and c.receiver.tags & Tag.DDP]
    pairs = [(first, second) for first, second in pairwise(passes) if _follows(first, second)]
    if not pairs or averaged_gradients.calls(facts):
        return
    names = frozenset(name for call in wrapped for name in _names(facts, call)) - {""}
    for first, second in _apart(facts, pairs, names):
        message = (
            "gradients of this backward pass stay on their rank: the one before has finished the averaging, and no "
            "forward pass came after it"
        )
        related = ((first.site, "the backward pass before"), (wrapped[0].site, "wrapped here"))
        yield facts.finding(RULE, second.site, message, related=related, context=second.context)


def _apart(facts: ModuleFacts, pairs: list[_Pair], names: Set[str]) -> Iterator[_Pair]:
    """The pairs of passes without a forward pass between them, of a network that goes by these names."""
    goes_forward = [c for c in facts.calls if not c.context.no_grad and _goes_forward(c)]
    for first, second in pairs:
        between = any(first.index < c.index < second.index for c in goes_forward)
        if not between and not _is_handed_on(facts, first, second, names):
            yield first, second


def _is_one(wrapped: list[CallEvent]) -> bool:
    """Whether there is one network, wrapped once in each run of the program, as usual."""
    networks = {symbol_key(c.args[0]) if c.args else None for c in wrapped}
    plain = not any(c.context.loops or c.opaque or c.keyword("static_graph") is not None for c in wrapped)
    return len(networks) == 1 and None not in networks and plain


def _follows(first: CallEvent, second: CallEvent) -> bool:
    """Whether a pass comes right after another one in the same turn of a loop, and the first one averages."""
    unshared = contexts.MAYBE_UNSHARED in first.context.withs or any(
        w in frameworks.UNSHARED for w in first.context.withs
    )
    both = (*first.context.guards, *second.context.guards)
    return (
        not unshared
        and first.site != second.site
        and first.context.chain == second.context.chain
        and first.context.loops == second.context.loops
        and first.keyword("inputs") is None
        and "except" not in (first.context.handler, second.context.handler)
        and surely_before(first.context, second.context)
        and not exclusion.contradict(both)
    )


def _goes_forward(call: CallEvent) -> bool:
    """Whether it may be a forward pass through the wrapper: its own call, or something unknown that is given it."""
    own = call.method == "__call__" and wrapping.is_wrapped(call.receiver)
    return own or any(wrapping.is_wrapped(value) for value in call.args) or _is_of_another(call)


def _names(facts: ModuleFacts, wrapping_call: CallEvent) -> Iterator[str]:
    """The last names of the variables and attributes that hold the wrapped network."""
    yield last_name(wrapping_call.node.args[0]) if wrapping_call.node.args else ""
    module = blocks.module_of(facts, wrapping_call.site)
    for node in module.of(ast.Assign) if module is not None else ():
        if node.lineno <= wrapping_call.site.line <= (node.end_lineno or node.lineno):
            yield from map(last_name, node.targets)


def _is_handed_on(facts: ModuleFacts, first: CallEvent, second: CallEvent, names: Set[str]) -> bool:
    """Whether something that is called between two passes is given what goes by a name of the network: it may go
    forward."""
    module = blocks.module_of(facts, second.site)
    calls = (
        (c for c in module.of(ast.Call) if first.site.line < c.lineno <= second.site.line) if module is not None else ()
    )
    return any(last_name(argument) in names for call in calls for argument in call.args)


def _is_of_another(call: CallEvent) -> bool:
    """Whether it may be a forward pass of another network, such as a critic, which is given what the wrapped one has
    computed only without its gradients: the loss that comes of it does not reach the wrapped one."""
    given = [value.tags for value in call.args if value.tags & (Tag.DDP | Tag.DETACHED)]
    return call.method == "__call__" and bool(given) and not any(tags & Tag.DDP for tags in given)
