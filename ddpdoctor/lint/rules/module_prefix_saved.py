"""The wrapper's state is saved with its prefix

## What it does
Finds `torch.save` of the `state_dict()` of a model in DistributedDataParallel, or of one that Accelerate has prepared,
which it wraps where there are several processes.

## Why it harms
Every key begins with `module.`: the checkpoint does not load into the network itself, and with `strict=False` it
silently loads nothing.

## Example
```python
torch.save(ddp_model.state_dict(), "last.pt")
```

## Use instead
```python
torch.save(ddp_model.module.state_dict(), "last.pt")
```

## Fix safety
Unsafe: `.module` is added. Code that loads older checkpoints must handle both forms.

## When it is wrong
When the code that loads the checkpoint strips the prefix, or loads into a wrapped or prepared model, in a file that
lint cannot see. If that code is in a reachable file, nothing is reported.

## References
https://docs.pytorch.org/tutorials/intermediate/ddp_tutorial.html#save-and-load-checkpoints
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import edits, saved_states
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts
from ddpdoctor.lint.interpreter import wrapping
from ddpdoctor.lint.knowledge import frameworks, heuristics
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.model.finding import Applicability, Finding, Fix, Severity

RULE = LintRule("DD172", "module-prefix-saved", Severity.HINT, advice="save model.module.state_dict()")


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Saved states of wrapped models, if nothing in reach loads them with the prefix."""
    if _prefix_known(facts):
        return
    for call in facts.named("torch.save"):
        for _, made in saved_states.states(call.argument(0, "obj")):
            if made.args and wrapping.wrapper_of(made.args[0]) is not None:
                message = "every key of this checkpoint begins with `module.`: save the state of `.module`"
                yield facts.finding(RULE, made.site, message, fix=_fix(facts, made), context=call.context)
            elif made.args and made.args[0].tags & Tag.PREPARED and _by_accelerate(facts):
                told = Conditional(
                    "where the framework wraps this network in DistributedDataParallel, ",
                    "every key of this checkpoint begins with `module.`: save the state of what `unwrap_model` gives",
                )
                yield facts.finding(RULE, made.site, told, context=call.context)


def _prefix_known(facts: ModuleFacts) -> bool:
    """The prefix is stripped, or states are loaded into wrapped models."""
    if facts.suggests(heuristics.STRIPS_PREFIX):
        return True
    if heuristics.KNOWS_PREFIX.found_in_any(facts.texts):
        return True
    loads = facts.methods("load_state_dict")
    return any(
        wrapping.is_wrapped(c.receiver) or (c.receiver is not None and bool(c.receiver.tags & Tag.PREPARED))
        for c in loads
    )


def _by_accelerate(facts: ModuleFacts) -> bool:
    """Whether it is Accelerate that prepares networks: Fabric's wrapper gives the state of the network itself."""
    return bool(facts.named(frameworks.ACCELERATOR))


def _fix(facts: ModuleFacts, made: Made) -> Fix | None:
    node = made.node
    if made.site.file != facts.module.path or node is None or not isinstance(node.func, ast.Attribute):
        return None
    return Fix(Applicability.UNSAFE, (edits.behind(facts.module, node.func.value, ".module"),))
