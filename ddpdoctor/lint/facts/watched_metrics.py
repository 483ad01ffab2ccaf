"""Metrics by whose name a Lightning program chooses: which callbacks and schedules watch them, and where they are
logged."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.classes import external_bases, find_method
from ddpdoctor.lint.knowledge import frameworks
from ddpdoctor.program.modules import ClassInfo, FunctionInfo
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.sites import SourceSite, site_of
from ddpdoctor.program.text import text_of


class Watch(NamedTuple):
    """A metric that something of the file follows, by name."""

    metric: str
    by: str
    site: SourceSite


def watches(facts: ModuleFacts) -> Iterator[Watch]:
    """`ModelCheckpoint(monitor="val_loss")`, and the schedule `{"scheduler": ..., "monitor": "val_loss"}`."""
    for call in facts.module.of(ast.Call):
        path = facts.module.imported(call.func) or ""
        if last_name(call.func) not in frameworks.WATCHING or "lightning" not in path:
            continue
        for keyword in call.keywords:
            if keyword.arg == "monitor" and isinstance(keyword.value, ast.Constant):
                yield Watch(str(keyword.value.value), last_name(call.func), site_of(facts.module, keyword.value))
    for owner in facts.module.classes:
        if (method := owner.methods.get("configure_optimizers")) is not None:
            yield from _of_schedule(facts, method)


def _of_schedule(facts: ModuleFacts, info: FunctionInfo) -> Iterator[Watch]:
    for node in walk(info.node):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "monitor" and isinstance(value, ast.Constant):
                    yield Watch(str(value.value), "the learning rate", site_of(facts.module, value))


def logged_alone(facts: ModuleFacts, metric: str) -> SourceSite | None:
    """Where the metric is logged in a validation, as this rank's own value: computed there of this rank's batches, and
    told to nobody else. None if all ranks log what they have agreed on, or if that is not known."""
    found: list[SourceSite] = []
    for module in (facts.module, *facts.analysis.reached.values()):
        for info in module.classes:
            steps = [step for name in frameworks.VALIDATING if (step := info.methods.get(name)) is not None]
            calls = [(step, call) for step in steps for call in _logs(step, metric)]
            if not calls or frameworks.MODULE not in map(frameworks.kind, external_bases(facts.analysis, info)):
                continue
            if not all(_is_own(facts, info, step, call) for step, call in calls):
                return None
            found.extend(site_of(module, call) for _, call in calls)
    return found[0] if found else None


def is_split(facts: ModuleFacts) -> bool:
    """Whether the file tells Lightning to use several devices, and not to leave the samplers alone."""
    texts = facts.texts
    if any(word in text for text in texts for word in frameworks.LEAVING_SAMPLERS):
        return False
    given = (k for call in facts.module.of(ast.Call) for k in call.keywords if k.arg in frameworks.SPREADING)
    return any(not _is_single(keyword.value) for keyword in given)


def _is_single(value: ast.expr) -> bool:
    """Whether it asks for one device, or leaves the choice to Lightning."""
    if isinstance(value, (ast.List, ast.Tuple)):
        return len(value.elts) < 2
    return isinstance(value, ast.Constant) and value.value in (None, 0, 1, "0", "1", "auto")


def _logs(step: FunctionInfo, metric: str) -> Iterator[ast.Call]:
    """`self.log(metric, value)` in a step."""
    for node in walk(step.node):
        if isinstance(node, ast.Call) and text_of(node.func) == "self.log" and len(node.args) > 1:
            name = node.args[0]
            if isinstance(name, ast.Constant) and name.value == metric:
                yield node


def _is_own(facts: ModuleFacts, info: ClassInfo, step: FunctionInfo, call: ast.Call) -> bool:
    """Whether nothing reduces what is logged: neither the call, nor what the value is computed by."""
    if any(keyword.arg in (None, "sync_dist") for keyword in call.keywords):
        return False
    return _of_this_rank(facts, info, step, call.args[1], 0)


#: assignments and methods of the class that are followed
_DEEPEST = 6


def _of_this_rank(facts: ModuleFacts, info: ClassInfo, step: FunctionInfo, value: ast.expr, depth: int) -> bool:
    """Whether a value is computed by the network, or by torch, from what this rank was given."""
    if depth > _DEEPEST:
        return False
    parts = walk(value)
    if any(isinstance(n, ast.Call) and last_name(n.func) in frameworks.AGREEING for n in parts):
        return False
    calls = [n for n in parts if isinstance(n, ast.Call)]
    if any(_computes(facts, info, call) for call in calls):
        return True
    names = {n.id for n in parts if isinstance(n, ast.Name)} - {"self"}
    made = [n.value for n in walk(step.node) if isinstance(n, ast.Assign) and _bound(n.targets) & names]
    return bool(made) and all(_of_this_rank(facts, info, step, one, depth + 1) for one in made)


def _computes(facts: ModuleFacts, info: ClassInfo, call: ast.Call) -> bool:
    """Whether a call is one of the network, of a method of its class that agrees on nothing, or of a loss of torch."""
    path = info.module.imported(call.func) or ""
    if path.startswith("torch.nn.functional."):
        return True
    if not isinstance(call.func, ast.Attribute):
        return isinstance(call.func, ast.Name) and call.func.id == "self"
    if text_of(call.func.value) != "self":
        return False
    method = find_method(facts.analysis, info, call.func.attr)
    if method is not None:
        return not any(isinstance(n, ast.Call) and last_name(n.func) in frameworks.AGREEING for n in walk(method.node))
    stored = info.stores.get(call.func.attr, ())
    made = (n.value for store in stored for n in walk(store.node) if isinstance(n, ast.Assign) and any(
        text_of(target) == f"self.{call.func.attr}" for target in n.targets))  # fmt: skip
    return any(
        isinstance(one, ast.Call) and (info.module.imported(one.func) or "").startswith("torch.nn.") for one in made
    )


def _bound(targets: list[ast.expr]) -> set[str]:
    return {n.id for target in targets for n in walk(target) if isinstance(n, ast.Name)}
