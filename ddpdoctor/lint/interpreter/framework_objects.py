"""Objects of frameworks: their collective methods, their attributes, the parameters of hooks."""

from __future__ import annotations

import ast

from ddpdoctor.lint.interpreter.classes import external_bases, mro
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.knowledge.aliases import canonical
from ddpdoctor.lint.knowledge.collectives import Collective
from ddpdoctor.lint.knowledge.frameworks import (
    ARGUMENTS,
    BATCHES,
    FABRIC,
    FIRST_RANK_METHODS,
    HOOKS,
    LIGHTNING,
    METHODS,
    MODULE,
    OBJECTS,
    RANK_METHODS,
    RANKED,
    RANKS,
    kind,
)
from ddpdoctor.lint.values.abstract_objects import Class, External, Instance, Items, Made, Namespace
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import (
    FIRST_RANK,
    LOCAL_RANK_NUMBERS,
    RANK_NUMBERS,
    WORLD,
    WORLD_NUMBER,
    Keywords,
    Taint,
    Value,
    of_object,
    per_rank,
    symbol,
    unknown,
)
from ddpdoctor.program.modules import ClassInfo, FunctionInfo
from ddpdoctor.program.nodes import dotted
from ddpdoctor.program.sites import SourceSite

_NUMBERS = {
    "rank": RANK_NUMBERS,
    "local_rank": LOCAL_RANK_NUMBERS,
    "world": WORLD_NUMBER,
    "first": FIRST_RANK,
    "last": per_rank(tuple(rank == WORLD - 1 for rank in range(WORLD)), Tag.RANK),
}
_LOG = Collective("log(sync_dist=True)")


def collective(path: str, method: str, keywords: Keywords, made: Made | None = None) -> Collective | None:
    """The collective that a method of a framework's object is; `made` if its constructor call was seen."""
    owner = kind(path)
    if owner == MODULE and method in ("log", "log_dict"):
        given = dict(keywords)
        sync = given.get("sync_dist")
        return _LOG if sync is not None and sync.constant is True and "rank_zero_only" not in given else None
    if owner in (LIGHTNING, FABRIC) and made is not None and one_process(made):
        return None
    return METHODS.get(owner, {}).get(method)


def one_process(made: Made) -> bool:
    """Whether it is `Trainer(devices=1)` or `Trainer(devices=[gpu])`; options that cannot be read may be that too."""
    devices, nodes = made.keyword("devices"), made.keyword("num_nodes")
    if devices is None or nodes is not None:
        return made.opaque
    listed = isinstance(devices.object, Items) and len(devices.object.items) == 1
    return made.opaque or listed or devices.constant in (1, "1")


def bases(machine: Machine, info: ClassInfo) -> tuple[str, ...]:
    """The classes in the framework tables that a class of the project inherits from."""
    if not info.node.bases:
        return ()
    known = machine.bases.get(info)
    if known is None:
        kinds = {kind(path) for path in external_bases(machine, info)}
        known = machine.bases[info] = tuple(sorted(k for k in kinds if k in METHODS or k in HOOKS or k in RANKED))
    return known


def inherited(machine: Machine, info: ClassInfo, method: str, keywords: Keywords) -> Collective | None:
    """The collective that a method is which a class of the project inherits from a framework."""
    for base in bases(machine, info):
        found = collective(base, method, keywords)
        if found is not None:
            return found
    return None


def is_first_rank(receiver: Value, method: str) -> bool:
    """Whether the call is true on rank 0 only, on any object; one framework's attribute is another's method."""
    if method == "__call__":
        return receiver.known and receiver.atoms == FIRST_RANK.atoms
    return method in FIRST_RANK_METHODS


def rank_method(receiver: Value, method: str) -> Value | None:
    """The rank that a method gives whose class is not part of the project."""
    return RANK_NUMBERS if method in RANK_METHODS and not isinstance(receiver.object, Instance) else None


def attribute(path: str, name: str) -> Value | None:
    """An attribute of a framework's object that is a rank or another such object."""
    owner = kind(path)
    if owner in RANKED and name in RANKS:
        return _NUMBERS[RANKS[name]]
    inner = OBJECTS.get((owner, name))
    return framework_object(inner, owner, name) if inner is not None else None


def framework_object(path: str, *key: object) -> Value:
    """An object of a framework whose creation was not seen; it may be missing outside the framework's own run."""
    return of_object(Made(path, SourceSite("", 0, 0, 0, 0)), path, *key).tagged(Tag.MAYBE)


def parsed(machine: Machine, types: Value, site: SourceSite) -> Value:
    """The result of `HfArgumentParser(types).parse_args_into_dataclasses()`: options, and a framework's arguments."""
    given = types.object.items if isinstance(types.object, Items) else (types,)
    return of_object(Items(tuple(_options(machine, one, site, n) for n, one in enumerate(given))), "parsed", site)


def _options(machine: Machine, given: Value, site: SourceSite, position: int) -> Value:
    """An instance of one of the types, with its fields set from the command line."""
    path = kind(given.object.path) if isinstance(given.object, External) else ""
    if path in RANKED:
        return framework_object(path, site, position)
    if isinstance(given.object, Class) and ARGUMENTS in bases(machine, given.object.info):
        # all processes are given the options of the project's own class
        made = framework_object(ARGUMENTS, site, position)
        return made._replace(atoms=(symbol("parsed", site, position, taint=Taint.GIVEN),), taint=Taint.GIVEN)
    return of_object(Namespace(site), site, position)


def annotated(imports: dict[str, str], annotation: ast.expr | None) -> str:
    """The framework's class in a parameter's annotation, "" for any other annotation."""
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.right, ast.Constant):
        annotation = annotation.left  # Fabric | None
    elif isinstance(annotation, ast.Subscript) and getattr(annotation.value, "id", "") == "Optional":
        annotation = annotation.slice
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        parts = annotation.value.split(".")
    else:
        parts = dotted(annotation)
    if not parts or parts[0] not in imports:
        return ""
    path = kind(canonical(".".join([imports[parts[0]], *parts[1:]])))
    return path if path in METHODS or path in RANKED else ""


def parameters(machine: Machine, info: FunctionInfo) -> dict[str, Value]:
    """Parameters that a framework passes to a hook of its classes, or that are annotated with one of these classes."""
    owners = bases(machine, info.owner) if info.owner is not None else ()
    found: dict[str, Value] = {}
    for index, parameter in enumerate(info.parameters):
        path = next((HOOKS[o][parameter.arg] for o in owners if parameter.arg in HOOKS.get(o, {})), "")
        path = path or annotated(info.module.imports, parameter.annotation)
        if path:
            found[parameter.arg] = framework_object(path, id(info), parameter.arg)
        elif any(BATCHES.get((owner, info.name)) == index for owner in owners):
            found[parameter.arg] = unknown("batch", id(info), taint=Taint.RANK_LOCAL)
        elif index == 1 and any((owner, info.name) in BATCHES for owner in owners):
            found[parameter.arg] = unknown("model", id(info), tags=Tag.PREPARED)
    return found


def steps_by_itself(machine: Machine, info: FunctionInfo | None) -> bool:
    """Whether it is `training_step` of a LightningModule: Lightning calls backward on the loss that it returns."""
    if info is None or info.name != "training_step" or info.owner is None:
        return False
    return MODULE in bases(machine, info.owner) and not _says(machine, info.owner, "automatic_optimization")


def _says(machine: Machine, info: ClassInfo, name: str) -> bool:
    """Whether the class, or a base in the project, assigns the attribute a value of its own."""
    return any(name in c.stores or name in c.methods or name in c.constants for c in mro(machine, info))
