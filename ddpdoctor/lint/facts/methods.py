"""Calls of methods of things outside the project."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ddpdoctor.lint.facts import batches, collective_table, dice, disk, frameworks, sharding, vocabulary
from ddpdoctor.lint.facts.classes import external_bases, find_method
from ddpdoctor.lint.facts.collectives import enter_method
from ddpdoctor.lint.facts.frame import Frame
from ddpdoctor.lint.facts.sources import FIRST, variable
from ddpdoctor.lint.facts.spawning import SPAWNED, start
from ddpdoctor.lint.facts.things import Function, Instance, Items, Made, Method, Namespace, Site
from ddpdoctor.lint.facts.trace import Op
from ddpdoctor.lint.facts.values import (
    DATA,
    NONE,
    ORIGIN,
    PART,
    UNEQUAL,
    Keywords,
    Taint,
    Value,
    of_thing,
    unknown,
)

if TYPE_CHECKING:
    from ddpdoctor.lint.facts.analysis import Analysis

#: what they give has no gradients
_DETACHING = frozenset({"detach", "item", "tolist", "numpy", "argmax"})
#: calls of unknown objects through which gradients flow: a criterion, a module, a gradient scaler
_DIFFERENTIABLE = frozenset({"__call__", "forward", "module", "scale"})
#: a name that each process makes up for itself
_OWN = frozenset({"time", "unique"})


#: methods of a module that give back itself
_MOVING = frozenset({"to", "cuda", "cpu", "train", "eval", "float", "half", "double", "bfloat16", "requires_grad_"})


def method_called(
    analysis: Analysis, frame: Frame, method: str, receiver: Value, args: tuple[Value, ...], keywords: Keywords,
    site: Site, node: ast.Call,
) -> Value:  # fmt: skip
    thing = receiver.thing
    if method == "__call__" and sharding.is_sharded(analysis, receiver):
        return sharding.forward(frame, (*args, *(v for _, v in keywords)), site)
    if isinstance(thing, Made):
        known = _made_method(analysis, frame, method, receiver, thing, args, keywords, site, node)
        if known is not None:
            return known
    found = disk.method(frame, method, receiver, args, site) or dice.method(receiver, method, args)
    spec = collective_table.DUCK_METHODS.get(method)
    if isinstance(thing, Instance):
        spec = frameworks.inherited(analysis, thing.info, method, keywords) or spec
    if spec is not None:
        return enter_method(frame, spec, site)
    if found is not None or frameworks.is_first_rank(receiver, method):
        return found or FIRST
    if method == "backward" and "ddp" in receiver.tags and "no_sync" not in frame.withs:
        frame.out.append(Op(sharding.BACKWARD if "sharded" in receiver.tags else "backward (DDP)", None, site))
        return NONE
    if isinstance(thing, Instance) and method in _MOVING and "torch.nn.Module" in external_bases(analysis, thing.info):
        return receiver
    values = (receiver, *args, *(v for _, v in keywords)) if method == "__call__" else (receiver, *args)
    if method == "append" and args and args[0].taint is Taint.RANK_LOCAL and "batch" in args[0].tags:
        _collect(frame, node)
    called = method == "__call__" and (isinstance(thing, Made) or "prepared" in receiver.tags)
    if called or method in vocabulary.PURE_METHODS:
        return _computed(
            method, receiver, values, (method, receiver.atoms, site if args or method == "__call__" else 0)
        )
    origin = receiver.tags if method != "module" else frozenset()
    if method in _DIFFERENTIABLE:
        origin = origin.union(*(v.tags for v in (*args, *(v for _, v in keywords))))
    return unknown("method", site, tags=(origin & ORIGIN) | (receiver.tags & _OWN))._replace(
        thing=Made(f"?.{method}", site, (receiver, *args), keywords, node)
    )


def _computed(method: str, receiver: Value, values: tuple[Value, ...], key: tuple[object, ...]) -> Value:
    """What a method gives that computes from its object and arguments alone."""
    local = any(v.taint is Taint.RANK_LOCAL for v in values)
    if method in vocabulary.EXTENTS and not receiver.tags & UNEQUAL:
        local = False
    tags: frozenset[str] = frozenset()
    for value in values:
        tags |= value.tags & DATA
    if local and method == "get":
        tags |= PART
    if method in _DETACHING:
        tags -= {"bypass"}
    if method in vocabulary.PICKING:
        tags |= {"uneven"}
    taint = Taint.RANK_LOCAL if local else receiver.taint if receiver.taint is Taint.UNIFORM else Taint.UNKNOWN
    return unknown(*key, taint=taint, tags=tags).with_thing(Method(receiver, method))


def _collect(frame: Frame, node: ast.Call) -> None:
    """A list now holds data of each rank. How long it is says nothing, what is computed from it does."""
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    known = frame.env.get(owner.id) if isinstance(owner, ast.Name) else None
    if known is not None and isinstance(owner, ast.Name):
        frame.env[owner.id] = known.tagged("collected")


def _made_method(
    analysis: Analysis, frame: Frame, method: str, receiver: Value, thing: Made, args: tuple[Value, ...],
    keywords: Keywords, site: Site, node: ast.Call,
) -> Value | None:  # fmt: skip
    spec = frameworks.collective(thing.path, method, keywords, thing)
    if spec is not None and not (spec.op == "state_dict (FSDP)" and "LOCAL_STATE_DICT" in frame.module.words):
        return enter_method(frame, spec, site)
    if thing.path == "os.environ" and method == "get":
        return variable(args)
    if thing.path.endswith("ArgumentParser") and method in ("parse_args", "parse_known_args"):
        namespace = of_thing(Namespace(site), site)
        return namespace if method == "parse_args" else of_thing(Items((namespace, unknown("rest", site))))
    if method == "__call__" and (thing.path in collective_table.WRAPPERS or thing.path in frameworks.FORWARDING):
        _forward(analysis, frame, thing, args, keywords, site)
        given = (*args, *(v for _, v in keywords))
        tags = frozenset({"ddp"}).union(*(v.tags & DATA for v in given))
        local = any(v.taint is Taint.RANK_LOCAL for v in given)
        if not local and batches.trained_on(frame, given):
            local, tags = True, tags | {"batch"}
        return unknown("forward", site, taint=Taint.RANK_LOCAL if local else Taint.UNKNOWN, tags=tags)
    if (frameworks.kind(thing.path), method) in frameworks.PREPARING:
        return _prepared(args, site)
    if thing.path == frameworks.PARALLEL and method == "run" and args:
        start(analysis, frame, args[0], [SPAWNED, *args[1:]], site)
    if method in _MOVING and _is_object(thing):
        return receiver
    del node
    return None


def _forward(
    analysis: Analysis, frame: Frame, wrapper: Made, args: tuple[Value, ...], keywords: Keywords, site: Site
) -> None:
    """The collectives in the forward pass of a network of the project that is in a wrapper."""
    from ddpdoctor.lint.facts.calls import follow

    network = wrapper.argument(0, "module")
    if network is None or not isinstance(network.thing, Instance):
        return
    method = find_method(analysis, network.thing.info, "forward")
    if method is not None and method.module.words & collective_table.NAMES:
        follow(analysis, frame, Function(method, network), args, keywords, site, None)


def _is_object(thing: Made) -> bool:
    """A module or the like, whose `.to()` and `.eval()` give itself."""
    return thing.solid


def _prepared(args: tuple[Value, ...], site: Site) -> Value:
    prepared = tuple(a.tagged("prepared") for a in args)
    return prepared[0] if len(prepared) == 1 else of_thing(Items(prepared), "prepared", site)
