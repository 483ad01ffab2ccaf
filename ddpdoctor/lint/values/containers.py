"""Tuples, lists and dicts as values: their elements, changes to them, and the join of two of them."""

from __future__ import annotations

from ddpdoctor.lint.values.abstract_objects import Function, Instance, Items, ItemsByRank, Listed, Table
from ddpdoctor.lint.values.tags import Tag, Tags, of_all_parts, union
from ddpdoctor.lint.values.values import EVERY_RANK, Keywords, Taint, Value, const, of_object, symbol, unknown
from ddpdoctor.program import classes
from ddpdoctor.program.sites import SourceSite


def parts_of(value: Value) -> tuple[Value, ...] | None:
    """Every element, None if they are not known: of a display, of a constant, or of a NamedTuple's constructor call."""
    obj = value.object
    if isinstance(obj, Items):
        return obj.items
    if isinstance(obj, Instance):
        return obj.args if classes.is_tuple(obj.info) and not obj.keywords else None
    constants = value.elements
    return None if constants is None else tuple(Value((c,), Taint.UNIFORM) for c in constants)


def put(owner: Value, index: Value, value: Value) -> Value | None:
    """The container after `owner[index] = value`; None if its elements are not tracked."""
    obj, key = owner.object, index.constant
    if isinstance(obj, Table):
        if isinstance(key, str):
            kept = tuple((k, v) for k, v in obj.entries if k != key)
            return owner.with_object(Table((*kept, (key, value)), obj.complete, obj.rest))
        # any of the entries may have been replaced
        return owner.with_object(Table((), False, value if obj.rest is None else either(obj.rest, value)))
    if isinstance(obj, Items):
        items = list(obj.items)
        if isinstance(key, int) and -len(items) <= key < len(items):
            items[key] = value
            return owner.with_object(Items(tuple(items)))
        return unknown("filled", owner.atoms, index.atoms, tags=owner.tags)
    return None


def uneven(value: Value, tags: Tags) -> Value:
    """A container that has more or fewer elements on other ranks."""
    atom = symbol("uneven", value.atoms, taint=Taint.RANK_LOCAL)
    return value._replace(atoms=(atom,), taint=Taint.RANK_LOCAL, tags=value.tags | tags | Tag.UNEVEN)


def table(args: tuple[Value, ...], keywords: Keywords, site: SourceSite) -> Value:
    """`dict(other, name=value)`."""
    return changed_table(of_object(Table(()), "dict", site), Table(()), "update", args, keywords)


def of_unknown_length(receiver: Value, element: Value | None, site: SourceSite) -> Value:
    """The container with unknown length: it may also be empty."""
    atom = symbol("listed", receiver.atoms, site, taint=receiver.taint)
    return receiver._replace(atoms=(atom,), object=Listed(site, element))


def changed_table(receiver: Value, obj: Table, method: str, args: tuple[Value, ...], keywords: Keywords) -> Value:
    entries, complete, rest = dict(obj.entries), obj.complete, obj.rest
    if method == "update":
        given = args[0].object if args else None
        if isinstance(given, Table):
            entries.update(given.entries)
            complete, rest = complete and given.complete, rest or given.rest
        elif args:
            entries, complete = {}, False
        for name, value in keywords:
            if name in ("*", "**"):
                complete = False
            else:
                entries[name] = value
    elif method == "setdefault" and len(args) == 2 and isinstance(args[0].constant, str):
        if obj.complete:
            entries.setdefault(args[0].constant, args[1])
        elif args[0].constant not in entries:
            entries[args[0].constant] = unknown("setdefault", receiver.atoms, args[0].constant)
    elif method == "pop" and args and isinstance(args[0].constant, str):
        entries.pop(args[0].constant, None)
    else:
        entries, complete = {}, False
    return receiver.with_object(Table(tuple(entries.items()), complete, rest))


def either(one: Value, two: Value) -> Value:
    """An element that is one value or the other: known if both are the same object."""
    if one == two:
        return one
    if one.object is not None and one.object == two.object:
        return two.with_tags(one.tags | two.tags)
    return unknown("either", one.atoms, two.atoms)


def gathered(value: Value) -> Value:
    """A list as a value computed from its elements: data of this rank if they are."""
    obj = value.object
    elements = obj.items if isinstance(obj, Items) else (obj.element,) if isinstance(obj, Listed) else ()
    own = [element.tags for element in elements if element is not None and element.taint is Taint.RANK_LOCAL]
    if not own:
        return value
    return unknown("gathered", value.atoms, taint=Taint.RANK_LOCAL, tags=value.tags | union(own))


def element_of(owner: Value, *key: object) -> Value | None:
    """An element of a list or dict whose elements are all alike, as a symbol of its own."""
    obj = owner.object
    element = obj.element if isinstance(obj, Listed) else obj.rest if isinstance(obj, Table) else None
    if isinstance(obj, Items):
        own = [v for v in obj.items if v.taint is Taint.RANK_LOCAL]
        if own and len(own) == len(obj.items):
            tags = of_all_parts(v.tags for v in own)
            return unknown("element", owner.atoms, taint=Taint.RANK_LOCAL, tags=tags)
    if element is None:
        return None
    if element.object is None:
        return element if len(element.atoms) == 1 and not element.known else None
    return of_object(element.object, "element", owner.atoms, *key)._replace(tags=element.tags, taint=element.taint)


def entry_of(owner: Value, key: Value) -> Value | None:
    """What a dict has under an unknown key, if all that is in it is data of this rank."""
    obj = owner.object
    held = [value for _, value in obj.entries] if isinstance(obj, Table) and obj.complete and not key.known else []
    if not held or any(value.taint is not Taint.RANK_LOCAL for value in held):
        return None
    return unknown(
        "entry", owner.atoms, key.atoms, taint=Taint.RANK_LOCAL, tags=of_all_parts(value.tags for value in held)
    )


def gone_through(over: Value, table: Table, name: str) -> tuple[Value, Value | None]:
    """(what the loop iterates over, any of its elements) for `table.values()` and `table.items()`."""
    if name not in ("values", "items"):
        return over, None
    if table.complete and table.entries:
        values = [v for _, v in table.entries]
        if name == "items":
            values = [of_object(Items((const(k), v)), "item", over.atoms, k) for k, v in table.entries]
        common = _common(over, table, name)
        # of objects of the project, a loop has a turn for each
        is_apart = common is not None and any(isinstance(v.object, Instance) for _, v in table.entries)
        return over.with_object(Items(tuple(values))), None if is_apart else common
    return over, _common(over, table, name)


def with_functions(over: Value) -> tuple[Value, ...]:
    """The elements that a loop goes through, alone or with their keys, if some of them are functions of the project and
    others are not: each does something else, `v() if callable(v) else v`."""
    items = over.object.items if isinstance(over.object, Items) else ()
    held = [_behind_key(item).object for item in items]
    functions = sum(isinstance(obj, Function) for obj in held)
    return items if functions and any(obj != held[0] for obj in held) else ()


def _behind_key(item: Value) -> Value:
    pair = item.object.items if isinstance(item.object, Items) else ()
    return pair[1] if len(pair) == 2 and pair[0].known else item


def _common(over: Value, table: Table, name: str) -> Value | None:
    """What the values of the table have in common, if as far as known all are the same object, or of one class."""
    values = [v for _, v in table.entries] + ([table.rest] if table.rest is not None else [])
    first = values[0] if values else None
    if first is not None and all(v.taint is Taint.RANK_LOCAL for v in values):
        own = unknown("value", over.atoms, taint=Taint.RANK_LOCAL, tags=of_all_parts(v.tags for v in values))
        return of_object(Items((unknown("key", over.atoms), own)), "item", over.atoms) if name == "items" else own
    if first is None or first.object is None or not all(_are_alike(first, v) for v in values):
        return None
    element = of_object(first.object, "element", over.atoms)._replace(tags=first.tags, taint=first.taint)
    key = unknown("key", over.atoms)
    return of_object(Items((key, element)), "item", over.atoms) if name == "items" else element


def _are_alike(one: Value, two: Value) -> bool:
    if isinstance(one.object, Instance) and isinstance(two.object, Instance):
        return one.object.info is two.object.info
    same: bool = one.object == two.object
    return same


def any_instance(over: Value) -> Value | None:
    """One of the objects of the project that are gone through, alone or beside its key, if all are of one class."""
    items = over.object.items if isinstance(over.object, Items) else ()
    pairs = [item.object for item in items if isinstance(item.object, Items) and len(item.object.items) == 2]
    held = [pair.items[1] for pair in pairs] if len(pairs) == len(items) else items
    alike = bool(held) and all(isinstance(v.object, Instance) and _are_alike(held[0], v) for v in held)
    return items[0] if alike else None


def joined(one: Value, two: Value) -> Value | None:
    """A container that was filled on one path through the program, or differently on both."""
    a, b = one.object, two.object
    if isinstance(a, Table) and isinstance(b, Table):
        return one.with_object(_joined_tables(a, b))
    for first, second, value in ((a, b, two), (b, a, one)):
        if isinstance(first, Items) and not first.items and isinstance(second, Listed):
            return value
    return None


def pairs(one: Value, two: Value) -> list[tuple[Value, Value]] | None:
    """The joined elements of two tuples or lists of one length, such as a factory returns on either of two paths."""
    a, b = one.object, two.object
    if not isinstance(a, Items) or not isinstance(b, Items) or a == b or len(a.items) != len(b.items) or not a.items:
        return None
    return list(zip(a.items, b.items, strict=True))


def by_rank(one: Value, two: Value, masks: tuple[int, int]) -> ItemsByRank | None:
    """A list that was lengthened on some ranks, or differently on these and those."""
    first, second = _of_ranks(one), _of_ranks(two)
    if first is None or second is None or masks[0] & masks[1] or not (masks[0] and masks[1]):
        return None
    same = next((i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), None)
    same = min(len(first), len(second)) if same is None else same
    more = [(ranks & mask, v) for items, mask in ((first, masks[0]), (second, masks[1])) for ranks, v in items[same:]]
    return ItemsByRank((*first[:same], *more)) if more else None


def _of_ranks(value: Value) -> tuple[tuple[int, Value], ...] | None:
    """The elements of a list with the ranks that have them, unless their own data decides on it."""
    obj = value.object
    if value.taint is Taint.RANK_LOCAL or value.tags & Tag.UNEVEN:
        return None
    if isinstance(obj, Items):
        return tuple((EVERY_RANK, item) for item in obj.items)
    return obj.items if isinstance(obj, ItemsByRank) else None


def _joined_tables(a: Table, b: Table) -> Table:
    left, right = dict(a.entries), dict(b.entries)
    entries: list[tuple[str, Value]] = []
    for name in {**left, **right}:
        x, y = left.get(name), right.get(name)
        if x is not None and y is not None:
            entries.append((name, either(x, y)))
            continue
        present = x if x is not None else y
        assert present is not None
        there = present.tagged(Tag.MAYBE) if present.object is not None else unknown("maybe", name, present.atoms)
        entries.append((name, there))
    rest = a.rest if b.rest is None else b.rest if a.rest is None else either(a.rest, b.rest)
    return Table(tuple(entries), a.complete and b.complete, rest)


def is_empty(value: Value) -> bool | None:
    """Whether a container has no elements; None of anything else, and where that is not known."""
    obj = value.object
    if isinstance(obj, Table):
        return False if obj.entries else True if obj.complete and obj.rest is None else None
    if isinstance(obj, Items):
        return not obj.items
    elements = value.elements if obj is None else None
    return not elements if elements is not None else None
