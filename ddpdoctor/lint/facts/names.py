"""What a name is: a local variable, an import of the project, the outside world."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

from ddpdoctor.lint.facts import collective_table, frameworks, signals, spellings, vocabulary
from ddpdoctor.lint.facts.frame import Frame
from ddpdoctor.lint.facts.modules import Binding, ClassInfo, FunctionInfo, Module
from ddpdoctor.lint.facts.parts import parts_of
from ddpdoctor.lint.facts.things import (
    Class,
    External,
    Function,
    LocalModule,
)
from ddpdoctor.lint.facts.values import (
    Value,
    const,
    of_thing,
    unknown,
)

if TYPE_CHECKING:
    from ddpdoctor.lint.facts.analysis import Analysis

_BUILTINS = frozenset(dir(builtins))


def lookup(analysis: Analysis, frame: Frame, name: str) -> Value:
    """A name as the code in `frame` sees it."""
    value = frame.env.get(name)
    if value is not None:
        return value
    if frame.closure is not None:
        value = frame.closure.get(name)
        if value is not None:
            return value
    return module_name(analysis, frame.module, name)


def module_name(analysis: Analysis, module: Module, name: str) -> Value:
    """A top-level name of a module."""
    if name == "__name__":
        return const("__main__") if module is analysis.module else const(module.name)
    found = global_value(analysis, module, name)
    if found is not None:
        return found
    if name in _BUILTINS:
        return of_thing(External(f"builtins.{name}"))
    return unknown("global", module.path, name)


def global_value(analysis: Analysis, module: Module, name: str) -> Value | None:
    """The value bound at the top level (or imported), None where the module has no such name."""
    key = (module.path, name)
    if key not in analysis.globals_ or key in analysis.rebound:
        analysis.globals_[key] = unknown("global", *key)
        analysis.globals_[key] = _global(analysis, module, name)
    return analysis.globals_[key]


def _global(analysis: Analysis, module: Module, name: str) -> Value | None:
    bindings = module.bindings.get(name)
    target = module.imports.get(name)
    if bindings:
        stored = analysis.rebound.get((module.path, name))
        if stored is not None and _stand_ins(bindings):
            return stored
        held = [constant for file, which, constant in analysis.held if which == name and file == module.path]
        if held:
            return const(held[-1])
        if name in module.rebound or _filled_in_elsewhere(analysis, module, bindings):
            return signals.flag(module, name) or unknown("global", module.path, name)
        values = [_binding(analysis, module, b) for b in bindings]
        functions = [v for v in values if isinstance(v.thing, (Function, Class))]
        if len(values) == 1:
            return values[0]
        if functions:
            return functions[0]
        ranked = [v for v in values if len(v.atoms) > 1]
        return ranked[0] if ranked else unknown("global", module.path, name)
    if target is not None:
        return imported(analysis, module, target)
    for star in module.stars:
        found = analysis.project.find(star, module)
        if found is not None and found is not module:
            value = global_value(analysis, found, name)
            if value is not None:
                return value
        path = spellings.canonical(f"{star}.{name}")
        if path in collective_table.COLLECTIVES:
            return of_thing(External(path))
    return None


def _stand_ins(bindings: list[Binding]) -> bool:
    """`RANK = 0` and the like, until a function stores what it is."""
    return all(isinstance(b.value, (ast.Constant, ast.UnaryOp)) for b in bindings)


def _filled_in_elsewhere(analysis: Analysis, module: Module, bindings: list[Binding]) -> bool:
    """`_GROUP = None` in another file that nothing there changes: it stands there for others to set."""
    if module is analysis.module or len(bindings) != 1:
        return False
    value = bindings[0].value
    return isinstance(value, ast.Constant) and value.value is None


def _binding(analysis: Analysis, module: Module, binding: Binding) -> Value:
    value = binding.value
    if isinstance(value, FunctionInfo):
        return of_thing(Function(value), id(value))
    if isinstance(value, ClassInfo):
        return of_thing(Class(value), id(value))
    if value is None:
        return unknown("binding", id(binding))
    analysis.silent += 1
    try:
        whole = analysis.evaluate(Frame(module), value)
        if binding.part is None:
            return whole
        parts = parts_of(whole)
        known = parts is not None and binding.part < len(parts)
        return parts[binding.part] if parts is not None and known else unknown("binding", id(binding))
    finally:
        analysis.silent -= 1


def imported(analysis: Analysis, module: Module, target: str) -> Value:
    """An absolute dotted target: of this project when its own files have it, else external."""
    path = spellings.canonical(target)
    if path in collective_table.COLLECTIVES or path in vocabulary.RANK_CALLS or path.split(".")[0] in NEVER_LOCAL:
        return of_thing(External(path))
    if frameworks.kind(path) in frameworks.METHODS:
        return of_thing(External(path))  # also in the framework's own files: the table says what its methods do
    local = analysis.project.find(target, module)
    if local is not None:
        analysis.reached[local.path] = local
        return of_thing(LocalModule(local), local.path)
    parent, _, name = target.rpartition(".")
    if parent:
        owner = analysis.project.find(parent, module)
        if owner is not None and owner is not module:
            analysis.reached[owner.path] = owner
            value = global_value(analysis, owner, name)
            return value if value is not None else unknown("import", target)
    return of_thing(External(path))


#: packages that are always read through the tables, never followed into
NEVER_LOCAL = frozenset({
    "torch", "numpy", "math", "os", "sys", "time", "random", "argparse", "tqdm", "datetime", "uuid", "tempfile",
    "collections", "itertools", "functools",
})  # fmt: skip
