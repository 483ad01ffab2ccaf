"""The wrapper's state is saved with its prefix

## What it does
Finds `torch.save` of the `state_dict()` of a model in DistributedDataParallel.

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
When the code that loads the checkpoint strips the prefix, or loads into a wrapped model, in a file that lint cannot
see. If that code is in a reachable file, nothing is reported.

## References
https://docs.pytorch.org/tutorials/intermediate/ddp_tutorial.html#save-and-load-checkpoints
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import edits
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter import wrapping
from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import Made, Table
from ddpdoctor.lint.values.values import Value
from ddpdoctor.model.finding import Applicability, Finding, Fix, Severity

RULE = LintRule("DD172", "module-prefix-saved", Severity.HINT, advice="save model.module.state_dict()")


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Saved states of wrapped models, if nothing in reach loads them with the prefix."""
    if _prefix_known(facts):
        return
    for call in facts.named("torch.save"):
        for made in _states(call.argument(0, "obj")):
            if made.args and wrapping.wrapper_of(made.args[0]) is not None:
                message = "every key of this checkpoint begins with `module.`: save the state of `.module`"
                yield facts.finding(RULE, made.site, message, fix=_fix(facts, made), context=call.context)


def _states(saved: Value | None) -> list[Made]:
    obj = saved.object if saved is not None else None
    values = [saved] if saved is not None else []
    if isinstance(obj, Table):
        values = [*(v for _, v in obj.entries), *([obj.rest] if obj.rest is not None else [])]
    return [v.object for v in values if isinstance(v.object, Made) and v.object.path == "?.state_dict"]


def _prefix_known(facts: ModuleFacts) -> bool:
    """The prefix is stripped, or states are loaded into wrapped models."""
    if facts.suggests(heuristics.STRIPS_PREFIX):
        return True
    if heuristics.KNOWS_PREFIX.found_in_any(facts.texts):
        return True
    return any(wrapping.is_wrapped(c.receiver) for c in facts.methods("load_state_dict"))


def _fix(facts: ModuleFacts, made: Made) -> Fix | None:
    node = made.node
    if made.site.file != facts.module.path or node is None or not isinstance(node.func, ast.Attribute):
        return None
    return Fix(Applicability.UNSAFE, (edits.behind(facts.module, node.func.value, ".module"),))
