"""Name lookup: a local variable, an import from the project, or an external name."""

from __future__ import annotations

import ast
import builtins

from ddpdoctor.lint.interpreter import signals, wrapping
from ddpdoctor.lint.interpreter.container_mutation import ADDING
from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.knowledge import aliases, collectives, filesystem, frameworks, randomness, vocabulary
from ddpdoctor.lint.knowledge.packages import NEVER_LOCAL
from ddpdoctor.lint.values.abstract_objects import Class, External, Function, LocalModule
from ddpdoctor.lint.values.containers import parts_of
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import Value, const, of_object, unknown
from ddpdoctor.program.modules import Binding, ClassInfo, FunctionInfo, Module
from ddpdoctor.program.signal_handlers import NO_FLAGS

_BUILTINS = frozenset(dir(builtins))


def lookup(machine: Machine, frame: Frame, name: str) -> Value:
    """A name as the code in `frame` sees it."""
    value = frame.env.get(name)
    if frame.module.flags is not NO_FLAGS:
        line = frame.function.node.lineno if frame.function is not None else 0
        flag = signals.variable(frame.module, name, line, local=frame.function is not None and value is not None)
        if flag is not None:
            return flag
    if value is not None:
        return value
    around = frame.closure
    while around is not None:
        value = around.env.get(name)
        if value is not None:
            return value
        around = around.closure
    return module_name(machine, frame.module, name)


def module_name(machine: Machine, module: Module, name: str) -> Value:
    """A top-level name of a module."""
    if name == "__name__":
        return const("__main__") if module is machine.module else const(module.name)
    found = global_value(machine, module, name)
    if found is not None:
        return found
    if name in _BUILTINS:
        known = machine.externals.get(("", name))
        if known is None:
            known = machine.externals["", name] = of_object(External(f"builtins.{name}"))
        return known
    return machine.by_name(unknown("global", module.path, name), name)


def global_value(machine: Machine, module: Module, name: str) -> Value | None:
    """The value bound at the top level (or imported), None if the module has no such name."""
    key, known = (module.path, name), machine.globals_
    if key not in known or (machine.rebound and key in machine.rebound):
        known[key] = unknown("global", *key)
        if name in module.imports and name in module.bindings:
            # `tqdm = partial(tqdm.tqdm, ...)` is made of what it replaces
            known[key] = imported(machine, module, module.imports[name])
        known[key] = _global(machine, module, name)
    return known[key]


def _global(machine: Machine, module: Module, name: str) -> Value | None:
    bindings = module.bindings.get(name)
    target = module.imports.get(name)
    if target is not None and bindings and all(_is_none(b) for b in bindings):
        # `except ImportError: wandb = None`: where anything is done with it, it is the package
        return imported(machine, module, target).tagged(Tag.MAYBE)
    if bindings:
        return signals.variable(module, name, 0, local=False) or _bound(machine, module, name, bindings)
    if target is not None:
        given = imported(machine, module, target)
        # what takes the place of the builtin is called like it
        replaces = name == "open" and isinstance(given.object, External)
        return of_object(External(filesystem.OPEN)) if replaces else given
    for star in module.stars:
        found = machine.project.find(star, module)
        if found is not None and found is not module:
            value = global_value(machine, found, name)
            if value is not None:
                return value
        path = aliases.canonical(f"{star}.{name}")
        if path in collectives.COLLECTIVES or path in randomness.FUNCTIONS or path in frameworks.AVERAGING:
            return of_object(External(path))
    return None


def _bound(machine: Machine, module: Module, name: str, bindings: list[Binding]) -> Value:
    """The value of a name that the module itself binds."""
    stored = machine.rebound.get((module.path, name))
    if stored is not None and _stand_ins(bindings):
        return stored
    held = [constant for file, which, constant in machine.held if which == name and file == module.path]
    if held:
        return const(held[-1])
    if name in module.rebound or _filled_in_elsewhere(machine, module, bindings) or _grows(module, name, bindings):
        return unknown("global", module.path, name)
    values = [_binding(machine, module, b) for b in bindings]
    return values[0] if len(values) == 1 else _one_of(module, name, values)


def _one_of(module: Module, name: str, values: list[Value]) -> Value:
    """What is known of a name that is bound several times, in this order."""
    functions = [v for v in values if isinstance(v.object, (Function, Class))]
    if functions:
        return functions[0]
    ranked = [v for v in values if len(v.atoms) > 1]
    if ranked:
        return ranked[0]
    return wrapping.among(values) or unknown("global", module.path, name)


def _is_none(binding: Binding) -> bool:
    return binding.part is None and isinstance(binding.value, ast.Constant) and binding.value.value is None


def _stand_ins(bindings: list[Binding]) -> bool:
    """Whether these are placeholders like `RANK = 0`, which a function replaces later."""
    return all(isinstance(b.value, (ast.Constant, ast.UnaryOp)) for b in bindings)


def _filled_in_elsewhere(machine: Machine, module: Module, bindings: list[Binding]) -> bool:
    """Whether it is `_GROUP = None` in another file where nothing changes it: other files set it."""
    if module is machine.module or len(bindings) != 1:
        return False
    value = bindings[0].value
    return isinstance(value, ast.Constant) and value.value is None


def _grows(module: Module, name: str, bindings: list[Binding]) -> bool:
    """Whether it begins as a list that the file adds to: what it holds where a function reads it is not known."""
    if not all(isinstance(b.value, ast.List) for b in bindings) or not ADDING & module.words:
        return False
    methods = (call.func for call in module.of(ast.Call) if isinstance(call.func, ast.Attribute))
    return any(m.attr in ADDING and isinstance(m.value, ast.Name) and m.value.id == name for m in methods)


def _binding(machine: Machine, module: Module, binding: Binding) -> Value:
    value = binding.value
    if isinstance(value, FunctionInfo):
        return of_object(Function(value), id(value))
    if isinstance(value, ClassInfo):
        return of_object(Class(value), id(value))
    if value is None:
        return unknown("binding", id(binding))
    with machine.quietly():
        whole = machine.evaluate(Frame(module), value)
        if binding.part is None:
            return whole
        parts = parts_of(whole)
        known = parts is not None and binding.part < len(parts)
        return parts[binding.part] if parts is not None and known else unknown("binding", id(binding))


def imported(machine: Machine, module: Module, target: str) -> Value:
    """An absolute dotted target: of this project if its own files have it, else external."""
    path = aliases.canonical(target)
    if path in collectives.COLLECTIVES or path in vocabulary.RANK_CALLS or path.split(".")[0] in NEVER_LOCAL:
        return of_object(External(path))
    if frameworks.kind(path) in frameworks.METHODS:
        return of_object(External(path))  # also in the framework's own files: the table says what its methods do
    local = machine.project.find(target, module)
    if local is not None:
        machine.reached[local.path] = local
        return of_object(LocalModule(local), local.path)
    parent, _, name = target.rpartition(".")
    if parent:
        owner = machine.project.find(parent, module)
        if owner is not None and owner is not module:
            machine.reached[owner.path] = owner
            value = global_value(machine, owner, name)
            return value if value is not None else unknown("import", target)
    return of_object(External(path))
