"""What is read from a class itself: its methods, its constants, the members of an enumeration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddpdoctor.lint.facts.classes import external_bases, find_method, mro
from ddpdoctor.lint.facts.frame import Frame
from ddpdoctor.lint.facts.things import Class, Function, Member
from ddpdoctor.lint.facts.values import Value, const, of_thing, unknown

if TYPE_CHECKING:
    from ddpdoctor.lint.facts.analysis import Analysis
    from ddpdoctor.lint.facts.modules import ClassInfo


def class_attribute(analysis: Analysis, thing: Class, name: str) -> Value:
    """`Class.name`."""
    method = find_method(analysis, thing.info, name)
    if method is not None:
        receiver = of_thing(thing, id(thing.info)) if method.of_class else None
        return of_thing(Function(method, receiver), id(method), id(thing.info))
    if name in thing.info.constants and is_enumeration(analysis, thing.info):
        return of_thing(Member(thing.info, name), "member", id(thing.info), name)
    return _constant(analysis, thing.info, name) or unknown("class", id(thing.info), name)


def is_enumeration(analysis: Analysis, info: ClassInfo) -> bool:
    return any(base.startswith("enum.") and base.endswith("Enum") for base in external_bases(analysis, info))


def member_attribute(analysis: Analysis, thing: Member, name: str) -> Value | None:
    """`Mode.TRAIN.value` and `.name`; None for anything else."""
    if name == "name":
        return const(thing.name)
    return _constant(analysis, thing.info, thing.name) if name == "value" else None


def _constant(analysis: Analysis, info: ClassInfo, name: str) -> Value | None:
    """A constant of the class, or of one that it extends, where no file sets it anew."""
    owner = next((c for c in mro(analysis, info) if name in c.constants), None)
    modules = (analysis.module, *analysis.reached.values())
    if owner is None or ("cls", name) in owner.module.attribute_stores:
        return None
    if any((info.name, name) in m.attribute_stores or "setattr" in m.words for m in modules):
        return None
    analysis.silent += 1
    try:
        return analysis.evaluate(Frame(owner.module), owner.constants[name])
    finally:
        analysis.silent -= 1
