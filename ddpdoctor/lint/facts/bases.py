"""Classes of the project that extend others: `super()`, torch's loaders and samplers, fields of data classes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ddpdoctor.lint.facts import spellings
from ddpdoctor.lint.facts.classes import external_bases, mro
from ddpdoctor.lint.facts.frame import Frame
from ddpdoctor.lint.facts.things import Function, Instance, Made
from ddpdoctor.lint.facts.values import Symbol, Value

if TYPE_CHECKING:
    from ddpdoctor.lint.facts.analysis import Analysis
    from ddpdoctor.lint.facts.modules import ClassInfo

Keywords = tuple[tuple[str, Value], ...]

#: classes of torch whose constructor arguments are read off a subclass as well
_FOLLOWED = frozenset({spellings.LOADER, spellings.SAMPLER})
_FIELDS = ("dataclasses.field", "attr.ib", "attr.field", "attrs.field", "pydantic.Field")
#: under which an object keeps the call of its base's constructor
_BASE = "super()"


def behind_super(analysis: Analysis, frame: Frame, node: ast.Call) -> Function | str | None:
    """What `super().name(...)` calls: a method of the project, or torch's constructor by its path."""
    func = node.func
    if not isinstance(func, ast.Attribute) or not _is_super(func.value) or frame.function is None:
        return None
    owner, parameters = frame.function.owner, frame.function.parameters
    me = frame.env.get(parameters[0].arg) if parameters else None
    if owner is None or me is None or not isinstance(me.thing, Instance):
        return None
    classes = mro(analysis, me.thing.info)
    after = classes[classes.index(owner) + 1 :] if owner in classes else []
    for base in after:
        if func.attr in base.methods:
            return Function(base.methods[func.attr], me)
    return _torch_base(analysis, owner) if func.attr == "__init__" else None


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def _torch_base(analysis: Analysis, info: ClassInfo) -> str | None:
    return next(iter(sorted(external_bases(analysis, info) & _FOLLOWED)), None) if info.node.bases else None


def keep(analysis: Analysis, frame: Frame, made: Value) -> None:
    """Remember the call of torch's constructor with the object that it makes."""
    assert frame.function is not None
    atom = frame.env[frame.function.parameters[0].arg].atoms[0]
    if isinstance(atom, Symbol):
        frame.stores[(atom.key, _BASE)] = made
        analysis.heap[(atom.key, _BASE)] = made


def base_of(analysis: Analysis, instance: Value) -> Made | None:
    """The call of torch's constructor that an object keeps."""
    atom = instance.atoms[0]
    kept = analysis.heap.get((atom.key, _BASE)) if isinstance(atom, Symbol) else None
    return kept.thing if kept is not None and isinstance(kept.thing, Made) else None


def inherited_constructor(analysis: Analysis, info: ClassInfo) -> str | None:
    """torch's constructor, where the class has none of its own."""
    return _torch_base(analysis, info)


def given_field(analysis: Analysis, thing: Instance, name: str) -> Value | None:
    """A field of a data class from what it was called with: two that one line makes have their own."""
    for keyword, value in thing.keywords:
        if keyword in ("*", "**"):
            return None
        if keyword == name:
            return value
    if not thing.args:
        return None
    return dict(zip(_fields(analysis, thing.info), thing.args, strict=False)).get(name)


def default_of(analysis: Analysis, frame: Frame, value: Value) -> Value:
    """What a class attribute gives an object: `field(default=...)` and `field(default_factory=...)` looked into."""
    thing = value.thing
    if not isinstance(thing, Made) or thing.path not in _FIELDS:
        return value
    factory = thing.keyword("default_factory") or thing.keyword("factory")
    if factory is not None and isinstance(factory.thing, Function):
        outcome = analysis.call(factory.thing, (), (), frame, thing.site)
        return outcome.value if outcome is not None else value
    return thing.keyword("default") or value


def has_fields(info: ClassInfo) -> bool:
    """`@dataclass`, attrs, or a NamedTuple."""
    for decorator in info.node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = target.attr if isinstance(target, ast.Attribute) else target.id if isinstance(target, ast.Name) else ""
        if name in ("dataclass", "define", "frozen", "attrs", "s", "mutable"):
            return True
    return is_tuple(info)


def is_tuple(info: ClassInfo) -> bool:
    """A NamedTuple: its fields are its elements."""
    return any(_last(base) == "NamedTuple" for base in info.node.bases)


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _fields(analysis: Analysis, info: ClassInfo) -> Iterator[str]:
    """Names in the order of the constructor: those of the bases first."""
    seen: set[str] = set()
    for cls in reversed(mro(analysis, info)):
        for statement in cls.node.body:
            if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
                continue
            if "ClassVar" not in ast.unparse(statement.annotation) and statement.target.id not in seen:
                seen.add(statement.target.id)
                yield statement.target.id
