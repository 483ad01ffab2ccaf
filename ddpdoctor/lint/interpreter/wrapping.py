"""Models: which are in a DDP wrapper, which are the network inside one, what is read through the wrapper."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ddpdoctor.lint.interpreter.events import Access, Wrap
from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.interpreter.invocations import MethodCall
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.knowledge import aliases, collectives, vocabulary
from ddpdoctor.lint.values.abstract_objects import External, Instance, Items, Made, Method
from ddpdoctor.lint.values.tags import MODEL, Tag, union
from ddpdoctor.lint.values.values import FALSE, TRUE, Value, symbol_key, unknown
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.sites import SourceSite
from ddpdoctor.program.text import text_of


def wrapper_of(value: Value | None) -> Made | None:
    """The DDP object that a value certainly is."""
    obj = value.object if value is not None else None
    if value is None or not isinstance(obj, Made) or obj.path not in collectives.WRAPPERS:
        return None
    return obj if not value.tags & Tag.MAYBE else None


def is_fsdp(value: Value | None) -> bool:
    """Whether it is certainly an object of FSDP's wrapper."""
    made = value.object if value is not None else None
    return value is not None and isinstance(made, Made) and made.path == aliases.FSDP and not value.tags & Tag.MAYBE


def is_wrapped(value: Value | None) -> bool:
    """Whether it is in a DDP wrapper, at least if the script runs distributed, and certainly not the network inside
    one.
    """
    return value is not None and value.tags & MODEL == Tag.WRAPPED


def among(values: Iterable[Value]) -> Value | None:
    """The wrapper that is one of the values of a name: `model = DDP(model)`. What is called later sees the wrapper,
    perhaps under a condition."""
    wrappers = [value for value in values if value.tags & Tag.WRAPPED]
    return wrappers[-1].tagged(Tag.MAYBE) if wrappers else None


def remember(machine: Machine, frame: Frame, args: tuple[Value, ...], node: ast.Call, site: SourceSite) -> None:
    """Record that this network is now in a wrapper."""
    key = symbol_key(args[0]) if args else None
    if key is None or args[0].tags & Tag.WRAPPED:
        return
    text = text_of(node.args[0]) if node.args and isinstance(node.args[0], (ast.Name, ast.Attribute)) else ""
    unique = _unique(machine, frame, args[0])
    wrap = Wrap(frame.guards, text, unique, site, _replaced(frame, text, node))
    machine.wrapped.setdefault(key, wrap)


def _replaced(frame: Frame, text: str, node: ast.Call) -> str:
    """The attribute of another object in which the wrapper takes the place of the network: `model.visual =
    DDP(model.visual)`; "" where it does not. What an object stores in itself is known as it is."""
    targets = (target for assign in frame.module.of(ast.Assign) if assign.value is node for target in assign.targets)
    return next(
        (
            t.attr
            for t in targets
            if isinstance(t, ast.Attribute) and text_of(t) == text and not _is_self(frame, t.value)
        ),
        "",
    )


def _unique(machine: Machine, frame: Frame, network: Value) -> bool:
    obj = network.object
    if isinstance(obj, Method):
        # `build(settings).to(device)`
        made = next((call for call in machine.calls if call.result.atoms == network.atoms), None)
        return made is not None and made.context.function is frame.function and not made.context.loops
    if not isinstance(obj, (Instance, Made)):
        return obj is None
    site = obj.site
    if site is None or site.file != frame.module.path or frame.loops:
        return False
    return innermost_function(frame.module.tree, site.line) is (frame.function.node if frame.function else None)


def inner(machine: Machine, frame: Frame, value: Value, node: ast.expr | None) -> bool:
    """The network inside a wrapper: `ddp.module`, or the object passed to `DDP(...)` and still in use."""
    if value.tags & Tag.WRAPPED:
        return False
    if value.tags & Tag.INNER:
        return True
    if value.tags & Tag.PREPARED:
        return False  # in a wrapper of the framework's, too
    key = symbol_key(value)
    wrap = machine.wrapped.get(key) if key is not None else None
    if wrap is None or (isinstance(node, ast.Attribute) and node.attr == wrap.replaced):
        return False
    here = {(g.truth, g.side) for g in frame.guards}
    if not all((g.truth, g.side) in here for g in wrap.guards):
        return False
    return wrap.unique or (node is not None and bool(wrap.text) and text_of(node) == wrap.text)


def forwarded(call: MethodCall, target: Value, result: Value) -> Value:
    """The result of a call of `target`, tagged if the network inside a wrapper has computed it: by its forward, or from
    a batch by another method."""
    machine, frame, node = call.machine, call.frame, call.node.func
    if frame.no_grad or call.name in vocabulary.GENERATING:
        return result
    if isinstance(target.object, Method):
        owner = node.value if isinstance(node, ast.Attribute) else None
        if call.name == "module" and is_wrapped(call.receiver):
            return result.tagged(Tag.BYPASS)
        if inner(machine, frame, call.receiver, owner):
            if call.name == "forward":
                return result.tagged(Tag.BYPASS)
            given = union(value.tags for value in call.given)
            if given & Tag.BYPASS:
                return result.tagged(Tag.BYPASS)  # `net.get_normalized_probs(output)`
            return result.tagged(Tag.BY_METHOD) if given & Tag.BATCH and not given & Tag.DDP else result
    if inner(machine, frame, target, node):
        return result.tagged(Tag.BYPASS)
    given = union(value.tags for value in call.given)
    held = given & Tag.BATCH and not given & Tag.DDP and _holds_inner(machine, frame, target)
    return result.tagged(Tag.BY_HOLDER) if held else result


def _holds_inner(machine: Machine, frame: Frame, target: Value) -> bool:
    """Whether something that is not seen was made with a network that is now in a wrapper, and got no wrapper later:
    `objective = build("objective", net)`, `net = DDP(net)`."""
    made, key = target.object, symbol_key(target)
    if not isinstance(made, Made) or key is None or target.tags & (MODEL | Tag.PREPARED | Tag.SHARDED):
        return False
    given = (*made.args, *(value for _, value in made.keywords))
    if any(is_wrapped(value) for value in given) or not any(inner(machine, frame, value, None) for value in given):
        return False
    return not any(owner == key and is_wrapped(value) for (owner, _), value in machine.heap.items())


def attribute(machine: Machine, frame: Frame, owner: Value, name: str, node: ast.AST) -> Value | None:
    """The value of an attribute read from a wrapped model; None if it needs no special treatment."""
    if not is_wrapped(owner):
        return None
    if not machine.silent and isinstance(node, ast.Attribute):
        site = machine.site(frame, node)
        machine.accesses.append(Access(owner, name, node, site, machine.context(frame)))
    if name != "module":
        return None
    value = unknown("module", owner.atoms, tags=Tag.INNER)
    return value.with_object(Method(owner, name))


def through_prepared(machine: Machine, frame: Frame, owner: Value, name: str, node: ast.AST) -> None:
    """Record what is read from a network of the project that a framework has prepared; its own methods read it bare."""
    if machine.silent or not owner.tags & Tag.PREPARED:
        return
    if isinstance(node, ast.Attribute) and not _is_self(frame, node.value):
        machine.prepared.append(Access(owner, name, node, machine.site(frame, node), machine.context(frame)))


def _is_self(frame: Frame, node: ast.expr) -> bool:
    """Whether it is the object whose method this is."""
    function = frame.function
    if function is None or function.owner is None or not function.parameters:
        return False
    return isinstance(node, ast.Name) and node.id == function.parameters[0].arg


def tested(machine: Machine, frame: Frame, path: str, args: tuple[Value, ...], node: ast.Call) -> Value | None:
    """`hasattr`, `isinstance` and `getattr` of a model that is certainly wrapped; whether it has a network inside also
    of one that is where there are several ranks."""
    if len(args) == 2 and path == "builtins.isinstance" and is_fsdp(args[0]):
        return _is_instance(args[0], args[1])
    name = args[1].constant if len(args) > 1 else None
    if path == "builtins.hasattr" and name == "module" and is_wrapped(args[0]):
        return TRUE
    if len(args) < 2 or wrapper_of(args[0]) is None:
        return None
    if path == "builtins.getattr" and name == "module":
        return attribute(machine, frame, args[0], "module", node)
    if path == "builtins.isinstance":
        return _is_instance(args[0], args[1])
    return None


def _is_instance(value: Value, types: Value) -> Value | None:
    items = types.object.items if isinstance(types.object, Items) else (types,)
    paths = [i.object.path if isinstance(i.object, External) else None for i in items]
    if value.object.path in paths or "torch.nn.Module" in paths:
        return TRUE
    known = all(p is not None and p.startswith(("torch.nn.", "torch.distributed.fsdp.")) for p in paths)
    return FALSE if known else None
