"""The wrapper's state is saved with its prefix

## What it does
Finds `torch.save` of the `state_dict()` of a model in DistributedDataParallel, also of one that is wrapped only under a
condition, and of one that Accelerate has prepared, which it wraps where there are several processes.

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

from ddpdoctor.lint.facts import edits, exclusion, saved_states
from ddpdoctor.lint.facts.module_facts import DDP_PATHS, Conditional, ModuleFacts
from ddpdoctor.lint.interpreter import wrapping
from ddpdoctor.lint.knowledge import frameworks, heuristics
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.model.finding import Applicability, Finding, Fix, Severity
from ddpdoctor.program.text import text_of

RULE = LintRule("DD172", "module-prefix-saved", Severity.HINT, advice="save model.module.state_dict()")


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Saved states of wrapped models, if nothing in reach loads them with the prefix."""
    if _prefix_known(facts):
        return
    resumed = [call.receiver for call in facts.methods("load_state_dict") if call.receiver is not None]
    if any(wrapping.wrapper_of(network) is not None or network.tags & Tag.PREPARED for network in resumed):
        return
    loaded_so = any(map(wrapping.is_wrapped, resumed))
    for call in facts.named("torch.save"):
        for _, made in saved_states.states(call.argument(0, "obj")):
            if made.args and wrapping.wrapper_of(made.args[0]) is not None and not loaded_so:
                message = "every key of this checkpoint begins with `module.`: save the state of `.module`"
                yield facts.finding(RULE, made.site, message, fix=_fix(facts, made), context=call.context)
            elif made.args and made.args[0].tags & Tag.PREPARED and _by_accelerate(facts):
                told = Conditional(
                    "where the framework wraps this network in DistributedDataParallel, ",
                    "every key of this checkpoint begins with `module.`: save the state of what `unwrap_model` gives",
                )
                yield facts.finding(RULE, made.site, told, context=call.context)
            elif made.args and _perhaps_wrapped(facts, made):
                told = Conditional(
                    "where this network is wrapped, ",
                    "every key of this checkpoint begins with `module.`: save the state of `.module` there",
                )
                yield facts.finding(RULE, made.site, told, context=call.context)


def _perhaps_wrapped(facts: ModuleFacts, made: Made) -> bool:
    """Whether the network is wrapped under a condition, which nothing denies where its state is taken, and nothing asks
    there what the network is."""
    node = made.node.func if made.node is not None else None
    if not isinstance(node, ast.Attribute) or not wrapping.is_wrapped(made.args[0]):
        return False
    network = text_of(node.value)
    taken = [call.context.guards for call in facts.methods("state_dict") if call.site == made.site]
    wraps = [wrap.context.guards for wrap in facts.named(*DDP_PATHS)]
    return any(
        not any(network in guard.text for guard in guards)
        and not any(exclusion.contradict([*wrap, *guards]) for wrap in wraps)
        for guards in taken
    )


def _prefix_known(facts: ModuleFacts) -> bool:
    """The prefix is stripped somewhere."""
    return facts.suggests(heuristics.STRIPS_PREFIX) or heuristics.KNOWS_PREFIX.found_in_any(facts.texts)


def _by_accelerate(facts: ModuleFacts) -> bool:
    """Whether it is Accelerate that prepares networks: Fabric's wrapper gives the state of the network itself."""
    return bool(facts.named(frameworks.ACCELERATOR))


def _fix(facts: ModuleFacts, made: Made) -> Fix | None:
    node = made.node
    if made.site.file != facts.module.path or node is None or not isinstance(node.func, ast.Attribute):
        return None
    return Fix(Applicability.UNSAFE, (edits.behind(facts.module, node.func.value, ".module"),))
