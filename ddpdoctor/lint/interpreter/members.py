"""Reads from a class itself: its methods, its constants, the members of an enumeration."""

from __future__ import annotations

from ddpdoctor.lint.interpreter import signals
from ddpdoctor.lint.interpreter.classes import external_bases, find_method, mro
from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.knowledge import aliases
from ddpdoctor.lint.values.abstract_objects import Class, EnumMember, Function, Made
from ddpdoctor.lint.values.values import Value, const, of_object, unknown
from ddpdoctor.program.modules import ClassInfo
from ddpdoctor.program.sites import site_of


def class_attribute(machine: Machine, obj: Class, name: str) -> Value:
    """`Class.name`."""
    flag = signals.part(obj.info.module, (obj.info.name, name))
    if flag is not None:
        return flag
    method = find_method(machine, obj.info, name)
    if method is not None:
        receiver = of_object(obj, id(obj.info)) if method.of_class else None
        return of_object(Function(method, receiver), id(method), id(obj.info))
    if name == "apply":
        return _applied(machine, obj.info) or unknown("class", id(obj.info), name)
    if name in obj.info.constants and is_enumeration(machine, obj.info):
        return of_object(EnumMember(obj.info, name), "member", id(obj.info), name)
    return _constant(machine, obj.info, name) or unknown("class", id(obj.info), name)


def _applied(machine: Machine, info: ClassInfo) -> Value | None:
    """`Exchange.apply` of an operation with a backward of its own: its `forward`, which torch hands a context first."""
    forward = find_method(machine, info, "forward")
    if forward is None or not forward.is_static or aliases.OPERATION not in external_bases(machine, info):
        return None
    run = of_object(Function(forward), id(forward), id(info))
    if find_method(machine, info, "setup_context") is not None:
        return run
    given = (run, unknown("context", id(forward)))
    return of_object(Made("functools.partial", site_of(forward.module, forward.node), given), "applied", id(forward))


def is_enumeration(machine: Machine, info: ClassInfo) -> bool:
    return any(base.startswith("enum.") and base.endswith("Enum") for base in external_bases(machine, info))


def member_attribute(machine: Machine, obj: EnumMember, name: str) -> Value | None:
    """`Mode.TRAIN.value` and `.name`; None for anything else."""
    if name == "name":
        return const(obj.name)
    return _constant(machine, obj.info, obj.name) if name == "value" else None


def _constant(machine: Machine, info: ClassInfo, name: str) -> Value | None:
    """A constant of the class, or of a base, if no file assigns it again."""
    owner = next((c for c in mro(machine, info) if name in c.constants), None)
    modules = (machine.module, *machine.reached.values())
    if owner is None or ("cls", name) in owner.module.attribute_stores:
        return None
    if any((info.name, name) in m.attribute_stores or "setattr" in m.words for m in modules):
        return None
    with machine.quietly():
        return machine.evaluate(Frame(owner.module), owner.constants[name])
