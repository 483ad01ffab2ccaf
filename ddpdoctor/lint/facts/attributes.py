"""What an attribute is: of a module, of an object of the project, of something unknown."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ddpdoctor.lint.facts import frameworks, spellings, vocabulary, wrapping
from ddpdoctor.lint.facts.classes import find_method
from ddpdoctor.lint.facts.frame import Frame
from ddpdoctor.lint.facts.instances import instance_value
from ddpdoctor.lint.facts.members import class_attribute, member_attribute
from ddpdoctor.lint.facts.modules import FunctionInfo, Module
from ddpdoctor.lint.facts.names import NEVER_LOCAL, global_value, imported
from ddpdoctor.lint.facts.nodes import walk
from ddpdoctor.lint.facts.things import (
    Class,
    External,
    Function,
    Instance,
    LocalModule,
    Made,
    Member,
    Method,
    Namespace,
    Site,
)
from ddpdoctor.lint.facts.values import (
    LOCAL_RANK_NUMBERS,
    ORIGIN,
    Taint,
    Value,
    const,
    of_thing,
    per_rank,
    symbol_key,
    unknown,
)

if TYPE_CHECKING:
    from ddpdoctor.lint.facts.analysis import Analysis

#: attributes of tensors and loaders that keep what is known of the data
_DATA_ATTRIBUTES = frozenset({"data", "grad", "T", "loss", "logits", "mT", "real"})

#: what `torch.compile` keeps the network as that it was given; it is looked at as that network
COMPILED = "_orig_mod"


def attribute(analysis: Analysis, frame: Frame, owner: Value, name: str, node: ast.AST) -> Value:
    """`owner.name`."""
    thing = owner.thing
    if isinstance(thing, External):
        return _external_attribute(analysis, frame, thing.path, name, node)
    if isinstance(thing, LocalModule):
        value = global_value(analysis, thing.module, name)
        if value is not None:
            return value
        return imported(analysis, thing.module, f"{thing.module.name}.{name}")
    if isinstance(thing, Instance):
        return _instance_attribute(analysis, frame, owner, thing, name)
    if isinstance(thing, Class):
        return class_attribute(analysis, thing, name)
    if isinstance(thing, Member):
        found = member_attribute(analysis, thing, name)
        if found is not None:
            return found
    if owner.tags:
        found = wrapping.attribute(analysis, frame, owner, name, node)
        if found is not None:
            return found
    return _unknown_attribute(analysis, frame, owner, name)


def _external_attribute(analysis: Analysis, frame: Frame, path: str, name: str, node: ast.AST) -> Value:
    full = spellings.canonical(f"{path}.{name}")
    if full == "os.environ":
        return of_thing(Made("os.environ", Site("", 0, 0, 0, 0)))
    if full in ("torch.distributed.group.WORLD", "torch.distributed.GroupMember.WORLD"):
        return const(None)
    if full == "sys.argv":
        return unknown("argv")
    if "." not in path and path not in frame.module.imports.values() and path not in NEVER_LOCAL:
        local = analysis.project.find(f"{path}.{name}", frame.module)
        if local is not None:
            return of_thing(LocalModule(local), local.path)
    del node
    return of_thing(External(full))


def _unknown_attribute(analysis: Analysis, frame: Frame, owner: Value, name: str) -> Value:
    key = symbol_key(owner)
    if key is not None:
        stored = analysis.heap.get((key, name))
        if stored is not None:
            return stored
    if name == COMPILED:
        return owner
    if name in vocabulary.FIRST_RANK_ATTRIBUTES:
        return per_rank((True, False, False, False), frozenset({"rank"}))
    if name in vocabulary.FIRST_LOCAL_RANK_ATTRIBUTES:
        return per_rank((True, False, False, False), frozenset({"local_rank"}))
    if name == "local_rank" and _is_option_holder(frame.module, owner):
        return LOCAL_RANK_NUMBERS
    field_based = _by_stores(analysis, frame, owner, name)
    if field_based is not None:
        return field_based
    if isinstance(owner.thing, Made):
        made = frameworks.attribute(owner.thing.path, name)
        if made is not None:
            return made
    taint = Taint.UNKNOWN
    if name in _DATA_ATTRIBUTES and owner.taint is Taint.RANK_LOCAL:
        taint = Taint.RANK_LOCAL
    result = unknown(
        "attribute", owner.atoms, name, taint=taint, tags=owner.tags & (ORIGIN | {"batch", "time", "unique"})
    )
    return result.with_thing(Method(owner, name))


def _is_option_holder(module: Module, owner: Value) -> bool:
    """The file declares `--local_rank` itself: the launcher fills it in."""
    thing = owner.thing
    return "local_rank" in module.options and (thing is None or isinstance(thing, (Namespace, Method)))


def _by_stores(analysis: Analysis, frame: Frame, owner: Value, name: str) -> Value | None:
    """`args.rank` where a file in reach assigns `args.rank = <a rank>`: stores decide, not names."""
    if name not in ("rank", "local_rank", "gpu", "global_rank", "distributed_rank", "is_master", "is_main"):
        return None
    del owner
    for module in (frame.module, *analysis.reached.values()):
        for (_, stored), expressions in module.attribute_stores.items():
            if stored != name:
                continue
            value = _ranked(analysis, module, expressions)
            if value is not None:
                return value
    return None


def _ranked(analysis: Analysis, module: Module, expressions: list[ast.expr]) -> Value | None:
    cached_key = ("ranked", id(expressions))
    if cached_key in analysis.attributes:
        return analysis.attributes[cached_key]
    analysis.attributes[cached_key] = None  # what is stored may be made of what was stored before
    value = analysis.attributes[cached_key] = _first_ranked(analysis, module, expressions)
    return value


def _first_ranked(analysis: Analysis, module: Module, expressions: list[ast.expr]) -> Value | None:
    analysis.silent += 1
    try:
        for expression in expressions:
            if isinstance(expression, (ast.Call, ast.Compare)) and _mentions_rank(expression):
                value = analysis.evaluate(Frame(module), expression)
                if value.known and len(value.atoms) > 1:
                    return value
    finally:
        analysis.silent -= 1
    return None


def _mentions_rank(node: ast.expr) -> bool:
    for inner in walk(node):
        if isinstance(inner, ast.Constant) and inner.value in ("RANK", "LOCAL_RANK"):
            return True
        if isinstance(inner, ast.Attribute) and inner.attr in ("get_rank", "get_local_rank"):
            return True
        if isinstance(inner, ast.Name) and inner.id in ("get_rank", "get_local_rank"):
            return True
    return False


def _instance_attribute(analysis: Analysis, frame: Frame, owner: Value, thing: Instance, name: str) -> Value:
    method = find_method(analysis, thing.info, name)
    if method is not None:
        marks = method.marks
        if not marks.isdisjoint(("property", "cached_property")):
            return _property(analysis, frame, owner, method, once="cached_property" in marks)
        if method.of_class:
            owner = of_thing(Class(thing.info), id(thing.info))
        return of_thing(Function(method, owner), id(method), owner.atoms)
    stored = instance_value(analysis, frame, owner, thing, name)
    if stored is not None:
        return stored
    if name == COMPILED:
        return owner
    if name in vocabulary.FIRST_RANK_ATTRIBUTES:
        return per_rank((True, False, False, False), frozenset({"rank"}))
    for base in frameworks.bases(analysis, thing.info):
        found = frameworks.attribute(base, name)
        if found is not None:
            return found
    value = unknown("attribute", owner.atoms, name)
    return value.with_thing(Method(owner, name))


def _property(analysis: Analysis, frame: Frame, owner: Value, method: FunctionInfo, *, once: bool) -> Value:
    site = analysis.site(frame, method.node)
    loops = frame.loops
    if once:
        frame.loops = ()  # no turn but the first makes it
    outcome = analysis.call(Function(method, owner), (), (), frame, site)
    frame.loops = loops
    return outcome.value if outcome is not None else unknown("property", id(method))
