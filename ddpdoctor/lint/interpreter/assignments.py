"""Assignment to targets: names, attributes of known objects, the elements of a tuple."""

from __future__ import annotations

import ast
from typing import Any

from ddpdoctor.lint.interpreter import container_mutation, losses, rates, tensor_mutation
from ddpdoctor.lint.interpreter.events import NamedPart, Setting, Switched
from ddpdoctor.lint.interpreter.frame import Frame, decided_by
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.knowledge import aliases, frameworks
from ddpdoctor.lint.values import containers, data_partition
from ddpdoctor.lint.values.abstract_objects import Instance, Made, Table
from ddpdoctor.lint.values.containers import parts_of
from ddpdoctor.lint.values.join import Decision, choose, left_alone
from ddpdoctor.lint.values.tags import NO_TAGS, Tag
from ddpdoctor.lint.values.values import EVERY_RANK, WORLD, Taint, Value, asserted, binary, symbol_key, unknown


def plain(machine: Machine, frame: Frame, node: Any) -> None:
    value = machine.evaluate(frame, node.value)
    for target in node.targets:
        assign(machine, frame, target, value)
    rates.note(machine, frame, node, value)


def annotated(machine: Machine, frame: Frame, node: Any) -> None:
    if node.value is not None:
        assign(machine, frame, node.target, machine.evaluate(frame, node.value))


def augmented(machine: Machine, frame: Frame, node: Any) -> None:
    load = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target) if isinstance(
        node.target, ast.Name) else None  # fmt: skip
    left = machine.evaluate(frame, load) if load is not None else unknown("augmented", id(node))
    if isinstance(node.target, ast.Attribute):
        left = machine.evaluate(frame, node.target)
    right = machine.evaluate(frame, node.value)
    after = tensor_mutation.changed(frame, node, left, right) or binary(type(node.op).__name__, left, right)
    # a share that is put together again piece by piece, each in an order of its own, is still one
    of_share = data_partition.piece(right) if isinstance(node.op, ast.Add) else NO_TAGS
    assign(machine, frame, node.target, after.tagged(of_share) if of_share else after)
    rates.note(machine, frame, node, after)


def assign(machine: Machine, frame: Frame, target: ast.expr, value: Value) -> None:
    """Bind a target; unpacks known tuples and stores attributes of known objects."""
    taints = machine.annotated[frame.module] if frame.module.annotated else None
    if taints and id(target) in taints:
        value = asserted(value, taints[id(target)])
    if isinstance(target, ast.Name):
        value = losses.named(frame, target.id, value)
        frame.env[target.id] = value
        if frame.function is not None and target.id in frame.function.outer:
            _store_global(machine, frame, target.id, value)
    elif isinstance(target, ast.Starred):
        assign(machine, frame, target.value, unknown("starred", id(target)))
    elif isinstance(target, (ast.Tuple, ast.List)):
        _unpack(machine, frame, target.elts, value)
    elif isinstance(target, ast.Attribute):
        owner = machine.evaluate(frame, target.value)
        kept = chosen_here(frame, target, value) if isinstance(owner.object, Instance) else value
        store_attribute(machine, frame, owner, target.attr, kept)
        if not machine.silent:
            _note(machine, frame, target, owner, value)
    elif isinstance(target, ast.Subscript):
        _store_element(machine, frame, target, value)


def _note(machine: Machine, frame: Frame, target: ast.Attribute, owner: Value, value: Value) -> None:
    """Record an attribute that means something to torch or a framework."""
    if target.attr in frameworks.STOPPING:
        machine.stops.append(Setting(target.attr, value, machine.site(frame, target), machine.context(frame)))
    elif target.attr in ("requires_grad", frameworks.SHARING):
        kept = machine.switched if target.attr == "requires_grad" else machine.sharing
        site, context = machine.site(frame, target), machine.context(frame)
        kept.append(Switched(owner, value, site, context, len(machine.calls)))


def _store_element(machine: Machine, frame: Frame, target: ast.Subscript, value: Value) -> None:
    owner, index = machine.evaluate(frame, target.value), machine.evaluate(frame, target.slice)
    made = owner.object
    if isinstance(made, Made) and made.path == "builtins.vars" and made.args and isinstance(index.constant, str):
        store_attribute(machine, frame, made.args[0], index.constant, value)
        return
    if isinstance(owner.object, Made) and owner.object.path == "os.environ" and not machine.silent:
        setting = Setting(str(index.constant), value, machine.site(frame, target), machine.context(frame))
        machine.settings.append(setting)
    if isinstance(made, Made) and made.path == aliases.PARTS_BY_NAME and not machine.silent:
        machine.named_parts.append(NamedPart(index, machine.site(frame, target), machine.context(frame)))
    filled = containers.put(owner, index, value)
    if filled is None:
        filled = tensor_mutation.changed(frame, target, owner, index, value)
    else:
        more = isinstance(owner.object, Table) and not any(k == index.constant for k, _ in owner.object.entries)
        apart = decided_by(frame, target) if more else None
        filled = containers.uneven(filled, apart) if apart is not None else filled
    if filled is not None:
        container_mutation.rebind(machine, frame, target.value, filled)


def _store_global(machine: Machine, frame: Frame, name: str, value: Value) -> None:
    """`global RANK; RANK = dist.get_rank()`: the value that other functions read, unless another value is
    stored there.
    """
    key = (frame.module.path, name)
    known = machine.rebound.get(key, value)
    worth = value.object is not None or (value.known and len(value.atoms) > 1)
    same = known == value and worth and frame.mask == EVERY_RANK
    machine.rebound[key] = value if same else None


def _unpack(machine: Machine, frame: Frame, targets: list[ast.expr], value: Value) -> None:
    parts = parts_of(value)
    tags = value.tags | Tag.PART if value.taint is Taint.RANK_LOCAL else value.tags
    starred = [t for t in targets if isinstance(t, ast.Starred)]
    for index, target in enumerate(targets):
        element = unknown("part", value.atoms, index, taint=_element_taint(value), tags=tags)
        if parts is not None and len(parts) == len(targets):
            element = parts[index]
        elif parts is not None and index < len(parts) and target not in starred and targets[-1:] == starred:
            element = parts[index]  # `first, second, *_ = ...`
        assign(machine, frame, target, element)


def _element_taint(value: Value) -> Taint:
    return Taint.UNKNOWN if value.taint is Taint.RANK else value.taint


def chosen_here(frame: Frame, node: ast.AST, value: Value) -> Value:
    """The value of an attribute after a branch on data of each rank: it differs on other ranks."""
    apart = decided_by(frame, node)
    if apart is None or value.object is not None:
        return value
    return unknown("chosen", value.atoms, id(node), taint=Taint.RANK_LOCAL, tags=value.tags | apart)


def _is_in_shared_memory(frame: Frame, owner: Value, name: str) -> bool:
    """Whether it may be the `value` of multiprocessing's `Value`: all ranks read what one has set there."""
    made = owner.object
    unseen = made is None or (isinstance(made, Made) and made.path.endswith(".Value"))
    return name == "value" and unseen and "multiprocessing" in frame.module.text


def store_attribute(machine: Machine, frame: Frame, owner: Value, name: str, value: Value) -> None:
    """`owner.name = value`, on the ranks that come here."""
    key = symbol_key(owner)
    if key is None:
        return
    if frame.mask != EVERY_RANK and _is_in_shared_memory(frame, owner, name):
        return
    if frame.mask != EVERY_RANK:
        known = frame.stores.get((key, name))
        if known is not None and known != value:
            value = choose(Decision(()), value, known, (frame.mask, EVERY_RANK & ~frame.mask), ("stored", key, name))
        elif known is None:
            untouched = left_alone(key, name)
            atoms = tuple(value.at(r) if frame.mask & 1 << r else untouched for r in range(WORLD))
            value = Value(atoms, Taint.RANK, value.object, value.tags)
    frame.stores[(key, name)] = value
    machine.heap[(key, name)] = value
