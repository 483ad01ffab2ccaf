"""Steps of a LightningModule that optimises by itself: Lightning averages gradients only behind its own method."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import averaged_gradients
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.classes import mro
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.interpreter.framework_objects import bases
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.knowledge import frameworks
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.program.modules import ClassInfo
from ddpdoctor.program.nodes import last_name, walk

_STEP = ".training_step"
_BACKWARD = "manual_backward"
_SETTING = "automatic_optimization"
#: strategies whose gradients are averaged, or taken to pieces, whoever calls the backward pass
_OTHER_STRATEGIES = ("fsdp", "deepspeed", "xla", "dp", "single", "hpu")


def unprepared(facts: ModuleFacts) -> Iterator[CallEvent]:
    """Each `loss.backward()` on the way from such a step, if an optimizer of the same function steps behind it."""
    if averaged_gradients.calls(facts) or any(map(_is_of_another_strategy, facts.named(frameworks.LIGHTNING))):
        return
    steps = facts.methods("step")
    for call in facts.methods("backward"):
        function = call.context.function
        if function is None or function.owner is None or _calls_own(function.node):
            continue
        by_hand = averaged_gradients.may_be_in(function.module)
        stepped = any(step.context.function is function and step.index > call.index for step in steps)
        in_step = any(name.endswith(_STEP) for name in call.context.calls)
        if stepped and in_step and not by_hand and _optimises_itself(facts.analysis, function.owner):
            yield call


def _optimises_itself(machine: Machine, owner: ClassInfo) -> bool:
    """Whether it is a LightningModule that says so for all its steps."""
    if frameworks.MODULE not in bases(machine, owner):
        return False
    said = [value for info in mro(machine, owner) for value in _said(info)]
    return bool(said) and all(isinstance(value, ast.Constant) and value.value is False for value in said)


def _said(info: ClassInfo) -> Iterator[ast.expr | None]:
    """What the class sets `automatic_optimization` to, or gives as this property."""
    for node in walk(info.node):
        if isinstance(node, ast.Assign) and any(last_name(target) == _SETTING for target in node.targets):
            yield node.value
        elif isinstance(node, ast.FunctionDef) and node.name == _SETTING:
            yield from (inner.value for inner in walk(node) if isinstance(inner, ast.Return))


def _calls_own(function: ast.AST) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr == _BACKWARD for node in walk(function))


def _is_of_another_strategy(trainer: CallEvent) -> bool:
    """Whether a trainer names a strategy other than DDP."""
    strategy = trainer.keyword("strategy")
    made = strategy.object if strategy is not None else None
    name = made.path.rpartition(".")[2] if isinstance(made, Made) else strategy.constant if strategy else None
    return isinstance(name, str) and name.lower().startswith(_OTHER_STRATEGIES)
