"""Metrics by whose name a Lightning program chooses: which callbacks and schedules watch them, and where they are
logged."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import logged_values
from ddpdoctor.lint.facts.logged_values import Log, Step
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.classes import external_bases, find_method, mro
from ddpdoctor.lint.interpreter.names import global_value
from ddpdoctor.lint.knowledge import frameworks
from ddpdoctor.lint.values.abstract_objects import Class
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.modules import ClassInfo, FunctionInfo
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.sites import SourceSite, site_of
from ddpdoctor.program.text import text_of


class Watch(NamedTuple):
    """A metric that something of the file follows, by name; "" if that comes from the settings."""

    metric: str
    by: str
    site: SourceSite
    #: whether a metric that is not there is an error
    strict: bool = True


def watches(facts: ModuleFacts) -> Iterator[Watch]:
    """`ModelCheckpoint(monitor="val_loss")`, and the schedule `{"scheduler": ..., "monitor": "val_loss"}`."""
    for call in facts.module.of(ast.Call):
        path = facts.module.imported(call.func) or ""
        if last_name(call.func) not in frameworks.WATCHING or "lightning" not in path:
            continue
        strict = all(keyword.arg != "strict" for keyword in call.keywords)
        for keyword in call.keywords:
            if keyword.arg == "monitor" and isinstance(keyword.value, ast.Constant):
                site = site_of(facts.module, keyword.value)
                yield Watch(str(keyword.value.value), last_name(call.func), site, strict)
    for owner in _trained(facts):
        if (method := owner.methods.get("configure_optimizers")) is not None:
            yield from _of_schedule(method)


def _trained(facts: ModuleFacts) -> Iterator[ClassInfo]:
    """The classes of the file, and those of other files that it makes something of: what its Trainer trains."""
    yield from facts.module.classes
    made = {last_name(call.func) for call in facts.module.of(ast.Call)}
    for module in facts.modules:
        if module is not facts.module:
            yield from (info for info in module.classes if info.name in made)


def _of_schedule(info: FunctionInfo) -> Iterator[Watch]:
    for node in walk(info.node):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "monitor":
                    metric = str(value.value) if isinstance(value, ast.Constant) else ""
                    strict = all(not isinstance(k, ast.Constant) or k.value != "strict" for k in node.keys)
                    yield Watch(metric, "the learning rate", site_of(info.module, value), strict)


def trainer(facts: ModuleFacts) -> SourceSite | None:
    """Where the file makes the Trainer."""
    made = facts.named(frameworks.LIGHTNING)
    return facts.place(made[0]) if made else None


def watched_alone(facts: ModuleFacts) -> Iterator[tuple[Watch, SourceSite]]:
    """What follows a metric that each rank logs for itself, with the place where it is logged."""
    for watch in watches(facts):
        logged = logged_alone(facts, watch.metric)
        if logged is not None:
            yield watch, logged


def watched_on_first(facts: ModuleFacts) -> Iterator[tuple[Watch, SourceSite]]:
    """The first that follows a metric that rank 0 alone logs, so that the others have none of this name, with the place
    where it is logged."""
    told = {""}
    for watch in watches(facts):
        logged = _logged_on_first(facts, watch.metric) if watch.metric not in told and watch.strict else None
        if logged is not None:
            told.add(watch.metric)
            yield watch, logged


def _logged_on_first(facts: ModuleFacts, metric: str) -> SourceSite | None:
    """Where the metric is logged on rank 0 alone; None if it is logged elsewhere as well, or nowhere."""
    found: list[SourceSite] = []
    for module in facts.modules:
        for info in module.classes:
            logs = [log for log in logged_values.of_hooks(facts.analysis, info, training=True) if log.may_be(metric)]
            if not logs or frameworks.MODULE not in map(frameworks.kind, external_bases(facts.analysis, info)):
                continue
            if not all(logged_values.is_on_first(log) for log in logs):
                return None
            found.extend(site_of(module, log.call) for log in logs)
    return found[0] if found and _sites_of_logs(facts, metric) <= set(found) else None


def _sites_of_logs(facts: ModuleFacts, metric: str) -> set[SourceSite]:
    """Where something logs a metric by its name, in a callback or another hook as well."""
    return {
        site_of(module, call)
        for module in facts.modules for call in module.of(ast.Call)
        if last_name(call.func) in ("log", "log_dict")
        and any(isinstance(n, ast.Constant) and n.value == metric for n in walk(call))
    }  # fmt: skip


def told_alone(facts: ModuleFacts) -> SourceSite | None:
    """Where a validation first logs a value of this rank's own, of the modules that the Trainer of the file may train;
    None if it logs none."""
    for module in facts.modules:
        for info in module.classes:
            own = (
                site_of(log.steps[-1].info.module, log.call)
                for log in logged_values.of_hooks(facts.analysis, info, training=False)
                if _is_own(facts, info, log)
            )
            first = next(own, None)
            if first is not None and frameworks.MODULE in map(frameworks.kind, external_bases(facts.analysis, info)):
                return first
    return None


def logged_alone(facts: ModuleFacts, metric: str) -> SourceSite | None:
    """Where the metric is logged in a validation, as this rank's own value: computed there of this rank's batches, and
    told to nobody else. None if all ranks log what they have agreed on, or if that is not known."""
    found: list[SourceSite] = []
    for module in facts.modules:
        for info in module.classes:
            logs = logged_values.of_hooks(facts.analysis, info, training=not metric)
            fitting = [log for log in logs if log.may_be(metric)]
            if not fitting or frameworks.MODULE not in map(frameworks.kind, external_bases(facts.analysis, info)):
                continue
            if not all(_is_own(facts, info, log) for log in fitting):
                return None
            found.extend(site_of(log.steps[-1].info.module, log.call) for log in fitting)
    return found[0] if found else None


def is_split(facts: ModuleFacts) -> bool | None:
    """Whether the file tells Lightning to use several devices, and not to leave the samplers alone; None if settings or
    options that it hands on may do so."""
    left = any(word in text for text in facts.texts for word in frameworks.LEAVING_SAMPLERS)
    return False if left else on_several(facts)


def on_several(facts: ModuleFacts) -> bool | None:
    """Whether the file tells Lightning to use several devices; None if settings or options that it hands on may."""
    given = [k.value for call in facts.module.of(ast.Call) for k in call.keywords if k.arg in frameworks.SPREADING]
    if not given and any(call.opaque for call in facts.named(frameworks.LIGHTNING)):
        return None
    asked = [_asks_for_several(value) for value in given]
    return True if True in asked else None if None in asked else False


def _asks_for_several(value: ast.expr) -> bool | None:
    """Whether it asks for more than one device, and does not leave the choice to Lightning; None if that is not
    written there."""
    if isinstance(value, (ast.List, ast.Tuple)):
        return len(value.elts) > 1
    if isinstance(value, ast.UnaryOp):
        return True  # -1: all devices
    return value.value not in (None, 0, 1, "0", "1", "auto") if isinstance(value, ast.Constant) else None


def _is_own(facts: ModuleFacts, info: ClassInfo, log: Log) -> bool:
    """Whether nothing reduces what is logged: neither the call, nor what the value is computed by."""
    if any(keyword.arg == "sync_dist" for keyword in log.call.keywords):
        return False
    unpacked = [keyword.value for keyword in log.call.keywords if keyword.arg is None]
    if any(_may_synchronise(facts, info, log, settings) for settings in unpacked):
        return False
    return _of_this_rank(facts, info, log.steps, log.value, 0)


def _may_synchronise(facts: ModuleFacts, info: ClassInfo, log: Log, unpacked: ast.expr) -> bool:
    """Whether `**unpacked` has the option in it that reduces over the ranks, or may have it."""
    for owner in mro(facts.analysis, info):
        made = list(map(logged_values.entries, logged_values.settings(unpacked, log.steps, owner)))
        if all(entries is not None for entries in made):
            return any(name == "sync_dist" for entries in made for name, _ in entries or ())
    return True


#: assignments and methods of the class that are followed
_DEEPEST = 6


def _of_this_rank(facts: ModuleFacts, info: ClassInfo, steps: tuple[Step, ...], value: ast.expr, depth: int) -> bool:
    """Whether a value is computed by the network, or by torch, from what this rank was given."""
    if depth > _DEEPEST or not steps:
        return False
    parts = walk(value)
    if any(isinstance(n, ast.Call) and last_name(n.func) in frameworks.AGREEING for n in parts):
        return False
    calls = [n for n in parts if isinstance(n, ast.Call)]
    if any(_computes(facts, info, call) for call in calls):
        return True
    made, around = _made_of({n.id for n in parts if isinstance(n, ast.Name)} - {"self"}, steps)
    return bool(made) and all(_of_this_rank(facts, info, around, one, depth + 1) for one in made)


def _made_of(names: set[str], steps: tuple[Step, ...]) -> tuple[list[ast.expr], tuple[Step, ...]]:
    """What variables are, in the last of these methods or as its caller gives it; with the methods where that is."""
    step = steps[-1]
    nodes = walk(step.info.node)
    made = [n.value for n in nodes if isinstance(n, ast.Assign) and _bound(n.targets) & names]
    made += [n.iter for n in nodes if isinstance(n, (ast.For, ast.comprehension)) and _bound([n.target]) & names]
    return (made, steps) if made else ([step.given[name] for name in sorted(names & step.given.keys())], steps[:-1])


def _computes(facts: ModuleFacts, info: ClassInfo, call: ast.Call) -> bool:
    """Whether a call is one of the network, of a method of its class that agrees on nothing, or of a loss of torch."""
    path = info.module.imported(call.func) or ""
    if path.startswith("torch.nn.functional."):
        return True
    if not isinstance(call.func, ast.Attribute):
        return isinstance(call.func, ast.Name) and call.func.id == "self"
    if text_of(call.func.value) != "self":
        return _is_measured_alone(facts, info, call.func.value)
    method = find_method(facts.analysis, info, call.func.attr)
    if method is not None:
        return not any(isinstance(n, ast.Call) and last_name(n.func) in frameworks.AGREEING for n in walk(method.node))
    return any(
        isinstance(one, ast.Call) and (info.module.imported(one.func) or "").startswith("torch.nn.")
        for one in _stored(info, call.func.attr)
    )


def _is_measured_alone(facts: ModuleFacts, info: ClassInfo, owner: ast.expr) -> bool:
    """Whether it is an object of a class of the project that the validation fills with this rank's results, in a file
    that has nothing to do with other ranks: `self.evaluator`."""
    if not isinstance(owner, ast.Attribute) or text_of(owner.value) != "self":
        return False
    given = (step for name in frameworks.VALIDATING if (step := info.methods.get(name)) is not None)
    filled = any(
        isinstance(n, ast.Attribute) and text_of(n.value) == text_of(owner) and n.attr == "update"
        for step in given for n in walk(step.node)
    )  # fmt: skip
    made = (_class(facts, info, value) for value in _stored(info, owner.attr)) if filled else ()
    classes = list(made)
    return bool(classes) and all(
        one is not None
        and not external_bases(facts.analysis, one)
        and one.module.words.isdisjoint(frameworks.AGREEING | {"distributed", "dist", "torchmetrics"})
        for one in classes
    )


def _class(facts: ModuleFacts, info: ClassInfo, value: ast.expr) -> ClassInfo | None:
    """The class of the project that is called."""
    called = value.func if isinstance(value, ast.Call) else None
    found = global_value(facts.analysis, info.module, called.id) if isinstance(called, ast.Name) else None
    return found.object.info if found is not None and isinstance(found.object, Class) else None


def _stored(info: ClassInfo, name: str) -> list[ast.expr]:
    """What the methods of a class store in an attribute."""
    every = (node for store in info.stores.get(name, ()) for node in walk(store.node) if isinstance(node, ast.Assign))
    return [node.value for node in every if any(text_of(target) == f"self.{name}" for target in node.targets)]


def _bound(targets: list[ast.expr]) -> set[str]:
    return {n.id for target in targets for n in walk(target) if isinstance(n, ast.Name)}
