"""Calls of methods of things outside the project."""

from __future__ import annotations

import ast

from ddpdoctor.lint.interpreter import batches, file_effects, framework_objects, fsdp, random_state, signals
from ddpdoctor.lint.interpreter.classes import external_bases, find_method
from ddpdoctor.lint.interpreter.collective_calls import enter_method
from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.interpreter.sources import FIRST, variable
from ddpdoctor.lint.interpreter.spawning import SPAWNED, start
from ddpdoctor.lint.interpreter.trace import Op
from ddpdoctor.lint.knowledge import collectives, frameworks, vocabulary
from ddpdoctor.lint.values.abstract_objects import Function, Instance, Items, Made, Method, Namespace
from ddpdoctor.lint.values.values import DATA, NONE, ORIGIN, PART, UNEQUAL, Keywords, Taint, Value, of_object, unknown
from ddpdoctor.program.sites import SourceSite

#: what they give has no gradients
_DETACHING = frozenset({"detach", "item", "tolist", "numpy", "argmax"})
#: calls of unknown objects through which gradients flow: a criterion, a module, a gradient scaler
_DIFFERENTIABLE = frozenset({"__call__", "forward", "module", "scale"})
#: a name that each process makes up for itself
_OWN = frozenset({"time", "unique"})


#: methods of a module that give back itself
_MOVING = frozenset({"to", "cuda", "cpu", "train", "eval", "float", "half", "double", "bfloat16", "requires_grad_"})


def method_called(
    machine: Machine, frame: Frame, method: str, receiver: Value, args: tuple[Value, ...], keywords: Keywords,
    site: SourceSite, node: ast.Call,
) -> Value:  # fmt: skip
    obj = receiver.object
    if method == "__call__" and fsdp.is_sharded(machine, receiver):
        return fsdp.forward(frame, (*args, *(v for _, v in keywords)), site)
    if isinstance(obj, Made):
        known = _made_method(machine, frame, method, receiver, obj, args, keywords, site, node)
        if known is not None:
            return known
    found = signals.asked(receiver, method) or file_effects.method(frame, method, receiver, args, site)
    found = found or random_state.method(receiver, method, args)
    spec = collectives.DUCK_METHODS.get(method)
    if isinstance(obj, Instance):
        spec = framework_objects.inherited(machine, obj.info, method, keywords) or spec
    if spec is not None:
        return enter_method(frame, spec, site)
    if found is not None or framework_objects.is_first_rank(receiver, method):
        return found or FIRST
    if method == "backward" and "ddp" in receiver.tags and "no_sync" not in frame.withs:
        frame.out.append(Op(fsdp.BACKWARD if "sharded" in receiver.tags else "backward (DDP)", None, site))
        return NONE
    if isinstance(obj, Instance) and method in _MOVING and "torch.nn.Module" in external_bases(machine, obj.info):
        return receiver
    values = (receiver, *args, *(v for _, v in keywords)) if method == "__call__" else (receiver, *args)
    if method == "append" and args and args[0].taint is Taint.RANK_LOCAL and "batch" in args[0].tags:
        _collect(frame, node)
    called = method == "__call__" and (isinstance(obj, Made) or "prepared" in receiver.tags)
    if called or method in vocabulary.PURE_METHODS:
        return _computed(
            method, receiver, values, (method, receiver.atoms, site if args or method == "__call__" else 0)
        )
    origin = receiver.tags if method != "module" else frozenset()
    if method in _DIFFERENTIABLE:
        origin = origin.union(*(v.tags for v in (*args, *(v for _, v in keywords))))
    return unknown("method", site, tags=(origin & ORIGIN) | (receiver.tags & _OWN))._replace(
        object=Made(f"?.{method}", site, (receiver, *args), keywords, node)
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
    taint = Taint.RANK_LOCAL if local else Taint.UNKNOWN
    alike = receiver.taint is Taint.GIVEN and all(v.taint <= Taint.GIVEN for v in values)
    if not local and (alike or receiver.taint is Taint.UNIFORM):
        taint = receiver.taint
    return unknown(*key, taint=taint, tags=tags).with_object(Method(receiver, method))


def _collect(frame: Frame, node: ast.Call) -> None:
    """A list now holds data of each rank. How long it is says nothing, what is computed from it does."""
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    known = frame.env.get(owner.id) if isinstance(owner, ast.Name) else None
    if known is not None and isinstance(owner, ast.Name):
        frame.env[owner.id] = known.tagged("collected")


def _made_method(
    machine: Machine, frame: Frame, method: str, receiver: Value, obj: Made, args: tuple[Value, ...],
    keywords: Keywords, site: SourceSite, node: ast.Call,
) -> Value | None:  # fmt: skip
    spec = framework_objects.collective(obj.path, method, keywords, obj)
    if spec is not None and not (spec.op == "state_dict (FSDP)" and "LOCAL_STATE_DICT" in frame.module.words):
        return enter_method(frame, spec, site)
    if obj.path == "os.environ" and method == "get":
        return variable(args)
    if obj.path.endswith("ArgumentParser") and method in ("parse_args", "parse_known_args"):
        namespace = of_object(Namespace(site), site)
        return namespace if method == "parse_args" else of_object(Items((namespace, unknown("rest", site))))
    if method == "__call__" and (obj.path in collectives.WRAPPERS or obj.path in frameworks.FORWARDING):
        _forward(machine, frame, obj, args, keywords, site)
        given = (*args, *(v for _, v in keywords))
        tags = frozenset({"ddp"}).union(*(v.tags & DATA for v in given))
        local = any(v.taint is Taint.RANK_LOCAL for v in given)
        if not local and batches.trained_on(frame, given):
            local, tags = True, tags | {"batch"}
        return unknown("forward", site, taint=Taint.RANK_LOCAL if local else Taint.UNKNOWN, tags=tags)
    if (frameworks.kind(obj.path), method) in frameworks.PREPARING:
        return _prepared(args, site)
    if obj.path == frameworks.PARALLEL and method == "run" and args:
        start(machine, frame, args[0], [SPAWNED, *args[1:]], site)
    if method in _MOVING and _is_object(obj):
        return receiver
    del node
    return None


def _forward(
    machine: Machine, frame: Frame, wrapper: Made, args: tuple[Value, ...], keywords: Keywords, site: SourceSite
) -> None:
    """The collectives in the forward pass of a network of the project that is in a wrapper."""
    network = wrapper.argument(0, "module")
    if network is None or not isinstance(network.object, Instance):
        return
    method = find_method(machine, network.object.info, "forward")
    if method is not None and method.module.words & collectives.NAMES:
        machine.follow(frame, Function(method, network), args, keywords, site, None)


def _is_object(obj: Made) -> bool:
    """A module or the like, whose `.to()` and `.eval()` give itself."""
    return obj.is_truthy


def _prepared(args: tuple[Value, ...], site: SourceSite) -> Value:
    prepared = tuple(a.tagged("prepared") for a in args)
    return prepared[0] if len(prepared) == 1 else of_object(Items(prepared), "prepared", site)
