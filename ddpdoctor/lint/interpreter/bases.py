"""Subclasses in the project: `super()`, subclasses of torch's loaders and samplers, fields of data classes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.interpreter.classes import external_bases, mro
from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.knowledge import aliases
from ddpdoctor.lint.values.abstract_objects import Function, Instance, Made, Namespace
from ddpdoctor.lint.values.tags import NO_TAGS, Tag, Tags, made_up
from ddpdoctor.lint.values.values import Symbol, Taint, Value, unknown
from ddpdoctor.program.modules import ClassInfo
from ddpdoctor.program.text import text_of

#: classes of torch whose constructor arguments are tracked through subclasses
_FOLLOWED = frozenset({aliases.LOADER, aliases.SAMPLER, aliases.BATCH_SAMPLER})
_FIELDS = ("dataclasses.field", "attr.ib", "attr.field", "attrs.field", "pydantic.Field")
#: the key under which an object stores the call of its base's constructor
_BASE = "super()"


def behind_super(machine: Machine, frame: Frame, node: ast.Call) -> Function | str | None:
    """What `super().name(...)` calls: a method of the project, or torch's constructor by its dotted name."""
    func = node.func
    if not isinstance(func, ast.Attribute) or not _is_super(func.value) or frame.function is None:
        return None
    owner, parameters = frame.function.owner, frame.function.parameters
    me = frame.env.get(parameters[0].arg) if parameters else None
    if owner is None or me is None or not isinstance(me.object, Instance):
        return None
    classes = mro(machine, me.object.info)
    after = classes[classes.index(owner) + 1 :] if owner in classes else []
    for base in after:
        if func.attr in base.methods:
            return Function(base.methods[func.attr], me)
    return torch_base(machine, owner) if func.attr == "__init__" else None


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def torch_base(machine: Machine, info: ClassInfo) -> str | None:
    """The dotted name of the class of torch that a class extends, if that class's constructor arguments matter."""
    return next(iter(sorted(external_bases(machine, info) & _FOLLOWED)), None) if info.node.bases else None


def keep(machine: Machine, frame: Frame, made: Value) -> None:
    """Store the call of torch's constructor with the object under construction."""
    assert frame.function is not None
    atom = frame.env[frame.function.parameters[0].arg].atoms[0]
    if isinstance(atom, Symbol):
        frame.stores[(atom.key, _BASE)] = made
        machine.heap[(atom.key, _BASE)] = made


def base_of(machine: Machine, instance: Value) -> Made | None:
    """The call of torch's constructor that is stored with an object."""
    atom = instance.atoms[0]
    kept = machine.heap.get((atom.key, _BASE)) if isinstance(atom, Symbol) else None
    return kept.object if kept is not None and isinstance(kept.object, Made) else None


def given_field(machine: Machine, obj: Instance, name: str) -> Value | None:
    """A field of a data class, from the constructor's arguments: two instances made by one line have their own."""
    named = next((value for keyword, value in obj.keywords if keyword == name), None)
    holders = [value for keyword, value in obj.keywords if keyword in ("*", "**")]
    if named is not None or not (obj.args or holders):
        return named
    fields = list(field_names(machine, obj.info))
    placed = dict(zip(fields, obj.args, strict=False)).get(name)
    if placed is not None or name not in fields:
        return placed
    holder = next((value for value in holders if _may_hold(machine, value, name)), None)
    if holder is None:
        return None
    options = _options_of(holder)
    if options is not None:
        # options that are declared by a loop over the fields have the fields' own defaults
        declared = any(name in module.options for module in machine.reached.values())
        made = NO_TAGS if declared else _made_up_by_default(machine, obj.info, name)
        return unknown("attribute", options.atoms, name, taint=Taint.GIVEN, tags=made)
    # what all ranks were sent has the name as well
    agreed = holder.taint is Taint.UNIFORM or holder.tags & Tag.AGREED
    made = NO_TAGS if agreed else _made_up_by_default(machine, obj.info, name)
    return unknown("field", holder.atoms, name, tags=made)


def _made_up_by_default(machine: Machine, info: ClassInfo, name: str) -> Tags:
    """Whether a field that may be given is one that each process makes up for itself where it is not."""
    owner = next((cls for cls in mro(machine, info) if name in cls.constants), None)
    if owner is None:
        return NO_TAGS
    inside = Frame(owner.module)
    with machine.quietly():
        default = default_of(machine, inside, machine.evaluate(inside, owner.constants[name]))
    made = made_up(default.tags)
    return made | Tag.MAYBE if made else NO_TAGS


def _may_hold(machine: Machine, holder: Value, name: str) -> bool:
    """Whether `**settings` may give a field: anything may that is not seen, and the command line what is an option."""
    if _options_of(holder) is None:
        return True
    modules = [module for module in machine.reached.values() if module.options or name in module.given]
    return not modules or any(name in module.options or name in module.given for module in modules)


def _options_of(holder: Value) -> Value | None:
    """The command line's options, of `**vars(options)`."""
    made = holder.object
    if not isinstance(made, Made) or made.path != "builtins.vars" or not made.args:
        return None
    return made.args[0] if isinstance(made.args[0].object, Namespace) else None


def default_of(machine: Machine, frame: Frame, value: Value) -> Value:
    """The value that a class attribute gives an instance; `field(default=...)` and `field(default_factory=...)` are
    resolved.
    """
    obj = value.object
    if not isinstance(obj, Made) or obj.path not in _FIELDS:
        return value
    factory = obj.keyword("default_factory") or obj.keyword("factory")
    if factory is not None and isinstance(factory.object, Function):
        outcome = machine.call(factory.object, (), (), frame, obj.site)
        return outcome.value if outcome is not None else value
    return obj.keyword("default") or value


def field_names(machine: Machine, info: ClassInfo) -> Iterator[str]:
    """Field names in the order of the constructor: those of the bases first."""
    seen: set[str] = set()
    for cls in reversed(mro(machine, info)):
        for statement in cls.node.body:
            if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
                continue
            if "ClassVar" not in text_of(statement.annotation) and statement.target.id not in seen:
                seen.add(statement.target.id)
                yield statement.target.id
