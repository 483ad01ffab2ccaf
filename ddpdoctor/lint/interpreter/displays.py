"""Lists, dicts and their elements: displays, subscripts, slices, comprehensions."""

from __future__ import annotations

import ast
from typing import Any

from ddpdoctor.lint.interpreter import budgets, loop_extent, overwrites, signals
from ddpdoctor.lint.interpreter.assignments import assign
from ddpdoctor.lint.interpreter.conditions import as_constant
from ddpdoctor.lint.interpreter.events import EnclosingLoop, TakenShare
from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.interpreter.results import cast, length_of
from ddpdoctor.lint.interpreter.sources import environment
from ddpdoctor.lint.interpreter.trace import Loop
from ddpdoctor.lint.knowledge import vocabulary
from ddpdoctor.lint.values import containers, data_partition, set_orders
from ddpdoctor.lint.values.abstract_objects import GroupOf, Instance, Items, Listed, Made, Method, Table
from ddpdoctor.lint.values.iteration import iterated_of, unknown_element
from ddpdoctor.lint.values.tags import ANY_RANK, NO_TAGS, OF_BATCH, ORIGIN, REASONS, SAMPLES, SHARES, Tag, Tags, union
from ddpdoctor.lint.values.values import (
    RANK_NUMBERS,
    WORLD,
    Symbol,
    Taint,
    Value,
    const,
    join_tags,
    lift,
    of_object,
    symbol,
    symbol_key,
    unknown,
)
from ddpdoctor.program.signal_handlers import NO_FLAGS, path_of
from ddpdoctor.program.text import text_of


def sequence(machine: Machine, frame: Frame, node: Any) -> Value:
    items: list[Value] = []
    for element in node.elts:
        if isinstance(element, ast.Starred):
            parts = machine.evaluate(frame, element.value)
            ordered = set_orders.order_of(parts) if not isinstance(node, ast.Set) else NO_TAGS
            return unknown("sequence", id(node), tags=ordered)
        items.append(machine.evaluate(frame, element))
    of_set = set_orders.of_display(node, items)
    if sum(map(_leaves, items)) > budgets.ELEMENTS:
        return unknown("sequence", id(node), tags=join_tags(items) | of_set)
    if items and all(i.known and len(i.atoms) == 1 for i in items):
        return (
            const(tuple(i.constant for i in items))
            if isinstance(node, ast.Tuple)
            else of_object(Items(tuple(items)), "items", id(node)).tagged(of_set)
        )
    return _tagged(of_object(Items(tuple(items)), "items", id(node)), items).tagged(of_set)


def concatenated(left: Value, right: Value, node: ast.BinOp) -> Value | None:
    """`[*left, *right]` of two lists or tuples whose elements are known; None of any others."""
    parts = containers.parts_of(left), containers.parts_of(right)
    own = Taint.RANK_LOCAL in (left.taint, right.taint)
    if parts[0] is None or parts[1] is None or own or len(left.atoms) > 1 or len(right.atoms) > 1:
        return None
    items = [*parts[0], *parts[1]]
    if sum(map(_leaves, items)) > budgets.ELEMENTS:
        return None
    return _tagged(of_object(Items(tuple(items)), "items", id(node)), items)


def _leaves(value: Value) -> int:
    """Number of nested elements, counted as often as they are reached.

    Forty lines of `x = (x, x)` make a tuple too large to compare or hash: a larger container is not tracked by
    elements.
    """
    obj = value.object
    if isinstance(obj, Items):
        return sum(map(_leaves, obj.items))
    if isinstance(obj, Table):
        return sum(_leaves(v) for _, v in obj.entries)
    return _constants(value.constant)


def _constants(constant: Any) -> int:
    plain = isinstance(constant, tuple) and not isinstance(constant, Symbol)
    return sum(map(_constants, constant)) if plain else 1


def _tagged(value: Value, items: list[Value]) -> Value:
    tags = join_tags(items)
    return value.with_tags(value.tags | (tags & ~(Tag.RANK | Tag.LOCAL_RANK | Tag.WORLD)))


def dictionary(machine: Machine, frame: Frame, node: Any) -> Value:
    entries: dict[str, Value] = {}
    complete = True
    for key, item in zip(node.keys, node.values, strict=True):
        value = machine.evaluate(frame, item)
        if key is None:
            if isinstance(value.object, Table):
                entries.update(value.object.entries)
                complete = complete and value.object.complete
            else:
                complete = False
            continue
        name = machine.evaluate(frame, key).constant
        if isinstance(name, str):
            entries[name] = value
        else:
            complete = False
    if sum(map(_leaves, entries.values())) > budgets.LEAVES:
        return unknown("dict", id(node))
    return of_object(Table(tuple(entries.items()), complete), "dict", id(node))


def subscript(machine: Machine, frame: Frame, node: Any) -> Value:
    flags = frame.module.flags
    path = path_of(node) if flags is not NO_FLAGS and flags else ()
    return (signals.part(frame.module, path) if path else None) or _subscript(machine, frame, node)


def _subscript(machine: Machine, frame: Frame, node: Any) -> Value:
    owner = machine.evaluate(frame, node.value)
    if isinstance(node.slice, ast.Slice):
        return _slice(machine, frame, owner, node.slice)
    index = machine.evaluate(frame, node.slice)
    element = _element(owner, index)
    if element is not None:
        return element
    if data_partition.part_of(owner, index):
        part = unknown("part", owner.atoms, taint=Taint.RANK_LOCAL, tags=Tag.SHARD)
        return _taken(machine, frame, node, part, sure=index.atoms == RANK_NUMBERS.atoms)
    if owner.known and index.known:
        return lift("Index", lambda a, i: a[i], (owner, index))
    part = _unknown_part(owner, index)
    if part.object is None and index.constant in vocabulary.TOKEN_ENTRIES:
        return part.with_object(Method(owner, str(index.constant)))
    return part.with_object(Method(owner, "narrow")) if _is_rest_of_texts(owner, node.slice) else part


def _is_rest_of_texts(owner: Value, index: ast.expr) -> bool:
    """`generated[:, width:]`: what a model has generated, without the prompts, to its end."""
    made = owner.object
    generated = isinstance(made, Made) and made.path.endswith(".generate")
    last = index.elts[-1] if generated and isinstance(index, ast.Tuple) and index.elts else None
    return isinstance(last, ast.Slice) and last.upper is None and last.step is None


def _element(owner: Value, index: Value) -> Value | None:
    """What a container whose elements are known has at an index."""
    key, obj = index.constant, owner.object
    if isinstance(obj, Made) and obj.path == "os.environ":
        return environment(key) or unknown("environ", str(key))
    if isinstance(obj, Items) and isinstance(key, int) and -len(obj.items) <= key < len(obj.items):
        return obj.items[key]
    if isinstance(obj, GroupOf):
        # a dimension of a mesh; several of them may be all
        return of_object(GroupOf(None, obj.several and isinstance(key, str)), owner.atoms, index.atoms)
    if isinstance(obj, Table) and isinstance(key, str):
        found = next((v for k, v in obj.entries if k == key), None)
        if found is not None:
            return found
    if isinstance(obj, Method) and obj.name == "shape" and key == 0 and obj.receiver.tags & Tag.SHARD:
        return length_of(obj.receiver)
    found = containers.entry_of(owner, index) or containers.element_of(owner, index.atoms)
    if found is not None and _is_of_rank(index) and found.taint is not Taint.RANK_LOCAL:
        return found.tagged(Tag.IN_GROUP)
    alike = found is not None and found.taint is not Taint.RANK_LOCAL
    return _of_own_sample(found, index) if found is not None and alike and _is_own_sample(index) else found


def _of_own_sample(found: Value, index: Value) -> Value | None:
    """The element of a list, as this rank's own where its sample says which; None if that is known from elsewhere."""
    if isinstance(found.object, Listed):
        atom = symbol("own sample", found.atoms, index.atoms, taint=Taint.RANK_LOCAL)
        return found._replace(atoms=(atom,), taint=Taint.RANK_LOCAL, tags=found.tags | index.tags & _OF_SAMPLE)
    return None if found.object is None else found


def _is_of_rank(index: Value) -> bool:
    """Whether each rank takes another element."""
    return len(index.atoms) > 1 and bool(index.tags & ANY_RANK)


def _unknown_part(owner: Value, index: Value) -> Value:
    tags = owner.tags & (ORIGIN | OF_BATCH | Tag.EXAMPLE | Tag.AGREED | Tag.RANDOM | Tag.OF_ROOT)
    if owner.taint is Taint.UNIFORM and not owner.known:
        tags |= Tag.AGREED  # `box[0]` of what rank 0 has sent
    if _picks(index):
        # as many as this rank's data decides
        picked = tags | Tag.UNEVEN | (index.tags & REASONS)
        part = unknown("picked", owner.atoms, index.atoms, taint=Taint.RANK_LOCAL, tags=picked)
        return part.with_object(Method(owner, "masked_select"))
    shares = data_partition.reordered(owner, index)
    if shares:
        return unknown("reordered", owner.atoms, index.atoms, taint=Taint.RANK_LOCAL, tags=tags | shares)
    taint = Taint.RANK_LOCAL if owner.taint is Taint.RANK_LOCAL else Taint.UNKNOWN
    if owner.tags & SAMPLES:
        tags |= Tag.SAMPLE
    elif isinstance(owner.object, Method) and owner.object.name in _SIZES and index.constant != 0:
        taint = Taint.UNKNOWN  # only the first dimension is as long as this rank's data decides
    if owner.taint is Taint.GIVEN and index.taint <= Taint.GIVEN:
        taint = Taint.GIVEN
    if taint is Taint.UNKNOWN and _is_own_sample(index):
        # what is known of this rank's sample
        taint, tags = Taint.RANK_LOCAL, tags | index.tags & _OF_SAMPLE
    tags |= Tag.PART if taint is Taint.RANK_LOCAL else NO_TAGS
    if _has_its_length(owner, index):
        tags |= owner.tags & Tag.UNEVEN
    if _is_of_rank(index) and taint is not Taint.RANK_LOCAL:
        tags |= Tag.IN_GROUP
    return unknown("subscript", owner.atoms, index.atoms, taint=taint, tags=tags)


def _has_its_length(owner: Value, index: Value) -> bool:
    """Whether a part is as long, or as large, as this rank's data decides: `found.shape[0]`, `torch.where(mask)[1]`."""
    if isinstance(owner.object, Method):
        return owner.object.name in _SIZES and index.constant == 0
    return isinstance(owner.object, Made) and owner.object.path in vocabulary.TUPLES_OF_PLACES


def _is_own_sample(index: Value) -> bool:
    """Whether it is the index of a sample of this rank's own, not the name of a part that each batch has."""
    of_data = index.taint is Taint.RANK_LOCAL and index.tags & Tag.BATCH
    return bool(of_data) and not index.tags & (Tag.ELEMENT | Tag.LENGTH)


#: what is known of the index of a sample is known of the sample
_OF_SAMPLE = OF_BATCH | Tag.SAMPLE
#: what says how long a tensor is, dimension by dimension
_SIZES = frozenset({"shape", "size"})
#: methods that give places as they are, in another shape
_RESHAPING = frozenset({"flatten", "squeeze", "view", "reshape", "long", "to", "cuda", "t"})


def _picks(index: Value) -> bool:
    """Whether an index picks out as many elements as this rank's data decides: a mask, or the places where it holds."""
    if index.taint is not Taint.RANK_LOCAL:
        return False
    if index.tags & Tag.MASK:
        return True
    obj = index.object
    while isinstance(obj, Method) and obj.name in _RESHAPING:
        obj = obj.receiver.object
    name = obj.path if isinstance(obj, Made) else obj.name if isinstance(obj, Method) else ""
    return bool(index.tags & Tag.UNEVEN) and name in vocabulary.PICKING | vocabulary.PICKING_CALLS


def _slice(machine: Machine, frame: Frame, owner: Value, node: ast.Slice) -> Value:
    bounds = [machine.evaluate(frame, b) if b is not None else None for b in (node.lower, node.upper, node.step)]
    # of a clock's text the first part may be the day, which is the same on all ranks
    tags = owner.tags & (ORIGIN | OF_BATCH | Tag.EXAMPLE | SHARES | Tag.WORLD | Tag.RANDOM | Tag.UNIQUE | Tag.OF_ROOT)
    taint = Taint.RANK_LOCAL if owner.taint is Taint.RANK_LOCAL else Taint.UNKNOWN
    lower, upper, step = bounds
    if upper is not None and upper.tags & (ANY_RANK | Tag.WORLD) == Tag.WORLD:
        tags |= Tag.WORLD  # as long as the world size says: `rows[:len(rows) // world_size * world_size]`
    if lower is None and upper is not None and step is None:
        tags &= ~Tag.SHARD  # cut to a size that may be equal on all ranks
    sharded = _shard_tags(lower, upper, step)
    if not sharded and lower is not None and upper is not None and step is None and lower.tags & Tag.RANK:
        rest = data_partition.rest_for_one(cast("builtins.len", (owner,), machine.site(frame, node)), upper)
        sharded = Tag.SHARD | Tag.BLOCK if rest else sharded
    if sharded and not data_partition.even(owner):
        tags &= ~Tag.WORLD
        tags |= sharded | data_partition.counted(owner)
        shard = unknown("shard", id(node), taint=Taint.RANK_LOCAL, tags=tags)
        return _taken(machine, frame, node, shard, sure=_is_of_job(lower, step))
    of_rank = lower is not None and bool(lower.tags & Tag.RANK)
    if of_rank:
        tags |= Tag.EVEN_SHARE
    part = unknown("slice", owner.atoms, id(node), taint=taint, tags=tags)
    if of_rank and not (lower is not None and lower.known and len(lower.atoms) == 1):
        part = _taken(machine, frame, node, part, sure=_is_of_job(lower, step))
    kept = isinstance(owner.object, Listed) and owner.object.element is not None and owner.object.element.object is None
    return part.with_object(owner.object) if kept else part


def _taken(machine: Machine, frame: Frame, node: ast.AST, share: Value, *, sure: bool) -> Value:
    """A rank's share, of which it is remembered where it was taken."""
    key = symbol_key(share)
    if key is not None:
        machine.shares[key] = TakenShare(machine.site(frame, node), sure)
    return share


def _is_of_job(lower: Value | None, step: Value | None) -> bool:
    """Whether each rank of the job certainly takes a share of its own: `rows[rank::world]`."""
    return lower is not None and step is not None and (
        lower.atoms == RANK_NUMBERS.atoms and step.constant == WORLD and bool(step.tags & Tag.WORLD)
    )  # fmt: skip


def _shard_tags(lower: Value | None, upper: Value | None, step: Value | None) -> Tags:
    """How a slice by rank can be unequal: strided by the world size, or in blocks of a rounded-up length."""
    if lower is None or not lower.tags & Tag.RANK:
        return NO_TAGS
    # with an upper bound the length may have been made divisible before
    if upper is None and step is not None and step.tags & Tag.WORLD:
        return Tag.SHARD
    if upper is not None and upper.tags & Tag.CEIL and upper.tags & Tag.RANK:
        return Tag.SHARD | Tag.BLOCK
    return NO_TAGS


def comprehension(machine: Machine, frame: Frame, node: Any) -> Value:
    """What a comprehension makes, in the order of what it goes through."""
    over: list[Value] = []
    value, first = _made_of_each(machine, frame, node, over)
    of_set = set_orders.of_comprehension(node, over, first)
    if not of_set:
        return value
    if isinstance(node, ast.SetComp) and isinstance(value.object, Listed):
        value = value.with_object(Listed(value.object.site, first.tagged(Tag.IN_SET)))
    else:
        _keep_origin(machine, value, over)
    return value.tagged(of_set)


def _keep_origin(machine: Machine, made: Value, over: list[Value]) -> None:
    """Remember which set something is in the order of."""
    key = symbol_key(made)
    ordered = next((one for one in over if set_orders.order_of(one)), None)
    held = ordered.object if ordered is not None else None
    known = machine.set_orders.get(symbol_key(ordered) or 0) if ordered is not None else None
    origin = known or (held.site if isinstance(held, (Made, Listed)) else None)
    if key is not None and origin is not None:
        machine.set_orders[key] = origin


def _made_of_each(machine: Machine, frame: Frame, node: Any, over: list[Value]) -> tuple[Value, Value]:
    """What a comprehension makes, and the first of what it makes that of, the key where it is a dict; what it goes
    through is added to `over`."""
    before_env, before_out, before_loops = frame.env, frame.out, frame.loops
    frame.env, frame.out, conditions, shared = dict(before_env), [], [], False
    outer, frame.overwritten = frame.overwritten, {}
    for generator in node.generators:
        iterated, element = iterated_of(machine.evaluate(frame, generator.iter))
        over.append(iterated)
        element = element or containers.any_instance(iterated)
        shared = shared or data_partition.is_share(iterated)
        loop = EnclosingLoop(node, machine.site(frame, node), iterated, text_of(generator.target))
        frame.loops = (*frame.loops, loop)
        assign(machine, frame, generator.target, element or unknown_element(iterated, id(generator)))
        conditions += [machine.evaluate(frame, condition) for condition in generator.ifs]
    chosen = shared or any(map(data_partition.by_rank, conditions))
    picked = _picked(conditions, over)
    parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    unrolled = _unrolled(machine, frame, node, iterated)
    each = _each(machine, frame, node, iterated)
    values = list(unrolled.values()) if unrolled else each or [machine.evaluate(frame, part) for part in parts]
    body = tuple(frame.out)
    inner, frame.env, frame.out, frame.loops = frame.env, before_env, before_out, before_loops
    overwrites.in_comprehension(frame, node.generators, inner, outer)
    if body:
        site = machine.site(frame, node)
        frame.out.append(Loop((symbol("comprehension", id(node)),), body, site))
    taint = Taint.RANK_LOCAL if any(v.taint is Taint.RANK_LOCAL for v in values) else Taint.UNKNOWN
    tags = join_tags(values) & (ORIGIN | OF_BATCH)
    result = unknown("comprehension", id(node), taint=Taint.RANK_LOCAL if picked else taint, tags=tags | picked)
    if isinstance(node, ast.DictComp):
        table = Table(tuple(unrolled.items()), bool(unrolled), None if unrolled else values[-1])
        return result.with_object(table), values[0]
    if each:
        return _tagged(of_object(Items(tuple(each)), "items", id(node)), each), each[0]
    if chosen:
        result = unknown("comprehension", id(node), taint=Taint.RANK_LOCAL, tags=tags | Tag.SHARD)
        result = _taken(machine, frame, node, result, sure=False)
    return result.with_object(Listed(machine.site(frame, node), values[0])), values[0]


def _picked(conditions: list[Value], over: list[Value]) -> Tags:
    """Why a comprehension has more elements on some ranks: by conditions on their data, or as what it goes through."""
    own = [c for c in conditions if c.taint is Taint.RANK_LOCAL] + [one for one in over if loop_extent.is_uneven(one)]
    return union(one.tags & REASONS | Tag.UNEVEN for one in own)


def _each(machine: Machine, frame: Frame, node: Any, over: Value) -> list[Value]:
    """`[f(name) for name in ("RANK", "LOCAL_RANK")]`, element by element; empty for any other comprehension."""
    if not isinstance(node, (ast.ListComp, ast.GeneratorExp)) or len(node.generators) != 1:
        return []
    if machine.steps > budgets.REPEATED:
        return []
    if node.generators[0].ifs:
        return _kept(machine, frame, node, over)
    values: list[Value] = []
    for item in _named(over) or _partly_own(over) or _few(containers.with_functions(over)):
        machine.steps += 1
        assign(machine, frame, node.generators[0].target, item)
        values.append(machine.evaluate(frame, node.elt))
    return values


def _kept(machine: Machine, frame: Frame, node: Any, over: Value) -> list[Value]:
    """`[hook for hook in hooks if hook is not None]`: those of a few objects of the project that are kept, if that is
    known of each."""
    target, conditions = node.generators[0].target, node.generators[0].ifs
    items = _few(over.object.items) if isinstance(over.object, Items) else ()
    if not isinstance(node.elt, ast.Name) or text_of(target) != node.elt.id:
        return []
    kept: list[Value] = []
    for item in items if any(isinstance(item.object, Instance) for item in items) else ():
        assign(machine, frame, target, item)
        asked = [machine.evaluate(frame, condition) for condition in conditions]
        if not all(value.known and len(value.atoms) == 1 for value in asked):
            return []
        kept += [item] if all(value.constant for value in asked) else []
    return kept


def _in_turn(target: ast.expr, over: Value) -> tuple[Value, ...]:
    """The few constants that a variable goes through."""
    names = as_constant(over).elements if isinstance(target, ast.Name) else None
    return tuple(map(const, names)) if names is not None and len(names) <= budgets.CONSTANTS else ()


def _few(items: tuple[Value, ...]) -> tuple[Value, ...]:
    return items if len(items) <= budgets.OBJECTS else ()


def _named(over: Value) -> tuple[Value, ...]:
    """The few constants that a comprehension goes through; none if they are a number of equal elements."""
    names = as_constant(over).elements
    if names is None or not 0 < len(names) <= budgets.CONSTANTS:
        return ()
    return tuple(map(const, names)) if all(isinstance(name, (str, tuple)) for name in names) else ()


def _partly_own(over: Value) -> tuple[Value, ...]:
    """The few tensors that a comprehension goes through, if some are data of this rank and others are not: no one
    element stands for all of them."""
    items = over.object.items if isinstance(over.object, Items) else ()
    own = sum(item.taint is Taint.RANK_LOCAL for item in items)
    plain = all(item.object is None or isinstance(item.object, (Made, Method)) for item in items)
    return items if plain and 0 < own < len(items) <= budgets.OBJECTS else ()


def _unrolled(machine: Machine, frame: Frame, node: Any, over: Value) -> dict[str, Value]:
    """`{name: f(name) for name in ("train", "val")}`, entry by entry; empty for any other comprehension."""
    plain = isinstance(node, ast.DictComp) and len(node.generators) == 1 and not node.generators[0].ifs
    if not plain or machine.steps > budgets.REPEATED:
        return {}
    target = node.generators[0].target
    entries: dict[str, Value] = {}
    for item in _in_turn(target, over) or _few(containers.with_functions(over)):
        # nested entries: each counts, so that their total is bounded
        machine.steps += 1
        assign(machine, frame, target, item)
        key = machine.evaluate(frame, node.key).constant
        if not isinstance(key, str):
            return {}
        entries[key] = machine.evaluate(frame, node.value)
    return entries
