"""A program counts micro-batches that DeepSpeed's engine counts as well

## What it does
Finds `engine.step()` that is called only in every so many turns (`if (i + 1) % every == 0`), after an
`engine.backward()` in each turn, where the engine accumulates gradients over as many batches itself.

## Why it harms
The engine counts its micro-batches in `step()`, and lets the optimizer make a step in each
`gradient_accumulation_steps`-th call. Called in every fourth turn only, with four such steps, the optimizer makes a
step in every sixteenth turn, by gradients that are divided by four. The schedule of the learning rate, which counts
these steps, hardly moves. Nothing is reported.

## Example
```python
for i, batch in enumerate(loader):
    engine.backward(engine(batch))
    if (i + 1) % config["gradient_accumulation_steps"] == 0:
        engine.step()
```

## Use instead
```python
for batch in loader:
    engine.backward(engine(batch))
    engine.step()
```

## Fix safety
No automatic fix.

## When it is wrong
Where `gradient_accumulation_steps` is 1. A program that calls `set_gradient_accumulation_boundary` is not reported, nor
one whose configuration is written in sight and leaves it at 1. Where it is not in sight what the engine is told, it is
a hint.

## References
https://deepspeed.readthedocs.io/en/latest/training.html#gradient-accumulation
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import turns
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import frameworks
from ddpdoctor.lint.knowledge.aliases import ENGINE
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values import symbols
from ddpdoctor.lint.values.abstract_objects import Made, Table
from ddpdoctor.lint.values.formulas import Reader, Unknown, Window, can_hold, unknowns
from ddpdoctor.lint.values.values import Value, symbol_key
from ddpdoctor.model.finding import Finding, Severity

RULE = LintRule(
    "DD139",
    "engine-step-under-own-count",
    Severity.WARNING,
    advice="call engine.step() after every backward pass: it counts the micro-batches itself",
)

_OPTION = "gradient_accumulation_steps"
#: options from which the engine computes the number
_SIZES = ("train_batch_size", "train_micro_batch_size_per_gpu")


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Steps of an engine under a condition on the number of the turn."""
    steps = [call for call in facts.methods("step") if _engine(call) is not None]
    if not steps or facts.methods("set_gradient_accumulation_boundary"):
        return
    passes = [call for call in facts.methods("backward") if _engine(call) is not None]
    reader = turns.reader_of(call.context for call in (*steps, *passes))
    for step in steps:
        window = _window(reader, step, passes, steps)
        severity = _severity(facts, step, window) if window is not None else None
        if severity is not None:
            unsure = "where the engine accumulates gradients over several batches, "
            said = (
                "the optimizer makes fewer steps than there are calls of step(), which counts micro-batches itself: "
                "call it after every backward pass"
            )
            yield facts.finding(*(RULE, step.site, Conditional(unsure, said)), context=step.context, severity=severity)


def _engine(call: CallEvent) -> Made | None:
    made = call.receiver.object if call.receiver is not None else None
    return made if isinstance(made, Made) and frameworks.kind(made.path) == ENGINE else None


def _window(reader: Reader, step: CallEvent, passes: list[CallEvent], steps: list[CallEvent]) -> Window | None:
    """The condition on the number of the turn without which no step is made, though gradients are computed."""
    made = turns.conditions(reader, step.context)
    windows = [u for u in unknowns(made) if isinstance(u, Window)]
    outside: dict[Unknown, bool] = dict.fromkeys(windows, False)
    if len(windows) != 1 or can_hold(made, outside):
        return None
    here = [p for p in passes if p.index < step.index and turns.same_turn(p.context, step.context)]
    if not any(can_hold(turns.conditions(reader, p.context), outside) for p in here):
        return None
    others = [s for s in steps if s is not step and turns.same_turn(s.context, step.context)]
    if any(can_hold(turns.conditions(reader, s.context), outside) for s in others):
        return None
    return windows[0]


def _severity(facts: ModuleFacts, step: CallEvent, window: Window) -> Severity | None:
    """A warning where the engine is told the same number, or another one above 1; None if it is told none."""
    engine = _engine(step)
    assert engine is not None
    config = engine.keyword("config") or engine.keyword("config_params")
    table = config.object if config is not None else None
    if isinstance(table, Table):
        return _by_table(table, window)
    if window.every in _asked(facts, config):
        return Severity.WARNING
    structure = symbols.structures().get(window.every, ())
    return Severity.HINT if structure[:1] in (("attribute",), ("subscript",)) and _names_option(structure) else None


def _by_table(table: Table, window: Window) -> Severity | None:
    given = dict(table.entries)
    option = given.get(_OPTION)
    if option is None:
        known = table.complete and not all(size in given for size in _SIZES)
        return None if known else Severity.HINT
    if option.known:
        return Severity.WARNING if isinstance(option.constant, int) and option.constant > 1 else None
    return Severity.WARNING if symbol_key(option) == window.every else Severity.HINT


def _asked(facts: ModuleFacts, config: Value | None) -> set[int]:
    """The number, as the program asks the engine or the engine's configuration for it."""
    asked = [call for call in facts.methods(_OPTION) if _engine(call) is not None]
    if config is not None:
        asked += [call for call in facts.methods("get") if _is_option_of(call, config)]
    found = {symbol_key(call.result) for call in asked}
    if config is not None:
        found.add(symbols.number(("subscript", config.atoms, (_OPTION,))))
    return {key for key in found if key is not None}


def _is_option_of(call: CallEvent, config: Value) -> bool:
    of_it = call.receiver is not None and call.receiver.atoms == config.atoms
    return of_it and bool(call.args) and call.args[0].constant == _OPTION


def _names_option(structure: tuple[object, ...]) -> bool:
    return any(part == _OPTION or part == (_OPTION,) for part in structure)
