"""The join of values where control flow meets: after a branch, a loop, a call with several returns."""

from __future__ import annotations

from ddpdoctor.lint.values import containers, loader_join
from ddpdoctor.lint.values.abstract_objects import Items, Made
from ddpdoctor.lint.values.symbols import operation
from ddpdoctor.lint.values.tags import MODEL, NO_TAGS, ORIGIN, REASONS, Tag, Tags
from ddpdoctor.lint.values.truths import is_true
from ddpdoctor.lint.values.values import EVERY_RANK, WORLD, Atom, Symbol, Taint, Value, per_rank, symbol, unknown

_FILES = Tag.FILE | Tag.OWN_FILE
#: what a program that is not distributed uses in place of a rank, a sampler, a group
_STAND_INS = (0, -1, None, 1, False, True)


def merge(
    truths: tuple[Atom, ...],
    then: dict[str, Value],
    then_mask: int,
    other: dict[str, Value],
    other_mask: int,
    key: object,
    reasons: Tags = NO_TAGS,
) -> dict[str, Value]:
    """Variables after a branch: for each rank from the side that it took; `reasons`: tags of its condition."""
    if not then_mask:
        return other
    if not other_mask:
        return then
    merged = dict(then)
    for name in {**then, **other}:
        a, b = then.get(name), other.get(name)
        if a is b or a == b:
            continue
        if a is None or b is None:
            present = a if a is not None else b
            assert present is not None
            merged[name] = present.tagged(Tag.MAYBE)
            continue
        merged[name] = choose(truths, a, then_mask, b, other_mask, (name, key), reasons)
    return merged


def merge_stores(
    truths: tuple[Atom, ...], then: dict[tuple[int, str], Value], then_mask: int,
    other: dict[tuple[int, str], Value], other_mask: int, reasons: Tags,
) -> dict[tuple[int, str], Value]:  # fmt: skip
    """Attributes after a branch. An attribute stored on one side only is kept if it is an object, or differs anyway."""
    merged = {**then, **other} if not then_mask else {**other, **then}
    for key in merged:
        a, b = then.get(key), other.get(key)
        if a is b:
            continue
        if a is None or b is None:
            present = a if a is not None else b
            if present is None or present.object is not None or present.taint > Taint.UNKNOWN:
                continue
            untouched = Value((left_alone(*key),), Taint.UNKNOWN)
            a, b = (present, untouched) if a is not None else (untouched, present)
        elif not then_mask or not other_mask:
            continue
        if a != b:
            masks = (then_mask, other_mask) if then_mask and other_mask else (EVERY_RANK, EVERY_RANK)
            merged[key] = choose(truths, a, masks[0], b, masks[1], (key, "stored"), reasons)
    return merged


def choose(
    truths: tuple[Atom, ...], a: Value, a_mask: int, b: Value, b_mask: int, key: object,
    reasons: Tags = NO_TAGS,
) -> Value:  # fmt: skip
    """One value out of two, given which ranks can hold which."""
    local = _asks(truths, Taint.RANK_LOCAL)
    value = _chosen(truths, a, a_mask, b, b_mask, key, reasons, local=local)
    if local or value.taint is not Taint.RANK_LOCAL:
        return value
    none = any(v.known and v.constant is None for v in (a, b))
    return value.tagged(Tag.OPTIONAL) if none else value


def _asks(truths: tuple[Atom, ...], taint: Taint) -> bool:
    """Whether the condition is unknown on some rank, with this taint."""
    return any(isinstance(t, Symbol) and t.taint is taint for t in truths)


def _chosen(
    truths: tuple[Atom, ...], a: Value, a_mask: int, b: Value, b_mask: int, key: object,
    reasons: Tags, *, local: bool,
) -> Value:  # fmt: skip
    if a.object is not None or b.object is not None:
        pairs = containers.pairs(a, b)
        if pairs is not None:
            items = (choose(truths, x, a_mask, y, b_mask, (key, i), reasons) for i, (x, y) in enumerate(pairs))
            return unknown(key, "items", tags=a.tags | b.tags).with_object(Items(tuple(items)))
        chosen = _on_some_ranks(a, a_mask, b, b_mask) or _choose_object(a, b, key)
        tags = a.tags | b.tags
        uneven = bool(tags & Tag.UNEVEN) and not tags & Tag.FILLED_UP
        return containers.uneven(chosen, tags & REASONS) if uneven else chosen
    plain = len(a.atoms) == len(b.atoms) == 1
    if not plain:
        for one, two in ((a, b), (b, a)):
            if _in_place_of(one, two, truths):
                return one
    if a_mask & b_mask and not local:
        stronger = _not_stand_in(a, b) or _not_stand_in(b, a)
        if stronger is not None:
            return stronger
        if _agreed(a, b) or _agreed(b, a):
            return unknown(key, "agreed", tags=(a.tags | b.tags) & ORIGIN)
    least = Taint.FILES if _asks(truths, Taint.FILES) else _of_condition(truths)
    joined = symbol(key, "join", taint=Taint.RANK_LOCAL if local else max(a.taint, b.taint, least))
    atoms: list[Atom] = []
    for rank in range(1 if plain and a_mask == b_mask == EVERY_RANK else WORLD):
        bit = 1 << rank
        x, y = a.at(rank), b.at(rank)
        if not b_mask & bit or (type(x) is type(y) and x == y):
            atoms.append(x)
        else:
            atoms.append(joined if a_mask & bit else y)
    value = per_rank(atoms, a.tags | b.tags)
    # the condition's tags say how the ranks differ
    why = reasons & REASONS | Tag.LOCAL_CHOICE if local else reasons & _FILES
    return value.with_tags(value.tags | why) if why else value


def _of_condition(truths: tuple[Atom, ...]) -> Taint:
    """The taint of a condition's choice: if all ranks are given the same unknown, they choose alike."""
    unsure = any(isinstance(t, Symbol) and t.taint > Taint.GIVEN for t in truths)
    return Taint.UNKNOWN if unsure or not truths else Taint.GIVEN


def left_alone(key: int, name: str) -> Symbol:
    """The value of an attribute on ranks that do not store it here: its previous value."""
    return symbol("left alone", key, name)


def filled_up(value: Value, key: int, name: str, before: Value | None) -> Value:
    """A stored attribute, with its previous value on the ranks that did not store it."""
    untouched = left_alone(key, name)
    if before is None or untouched not in value.atoms or (before.object is not None and value.object is not None):
        return value
    if before.object is not None:
        return unknown("stored", key, name, tags=value.tags)
    atoms = [before.at(r) if value.at(r) == untouched else value.at(r) for r in range(WORLD)]
    if value.object is None:
        return per_rank(atoms, value.tags)
    return Value(tuple(atoms), Taint.RANK, value.object, value.tags | Tag.MAYBE)


def _agreed(one: Value, two: Value) -> bool:
    """Whether one value came from collectives and the other is this rank's own: code that tests it knows
    which it has.
    """
    uniform = one.taint is Taint.UNIFORM and not one.known
    return two.taint is Taint.RANK_LOCAL and (uniform or (one.taint is Taint.UNKNOWN and bool(one.tags & Tag.AGREED)))


def _in_place_of(value: Value, given: Value, truths: tuple[Atom, ...]) -> bool:
    """Whether `value` replaces `given` if that is None: `dist.get_rank() if rank is None else rank`."""
    if not value.known or len(value.atoms) == 1 or not truths or not isinstance(truths[0], Symbol):
        return False
    return len(given.atoms) == 1 and truths[0].key == operation("Is", (given.atoms[0], None))[0]


def _not_stand_in(value: Value, stand_in: Value) -> Value | None:
    """`value` if `stand_in` is what a run without process group uses in its place."""
    if len(value.atoms) == 1 and not value.tags & Tag.WORLD:
        return None
    if stand_in.known and len(stand_in.atoms) == 1 and any(stand_in.atoms[0] is s for s in _STAND_INS):
        return value if value.known or value.tags & Tag.WORLD else None
    return None


def _on_some_ranks(a: Value, a_mask: int, b: Value, b_mask: int) -> Value | None:
    """A value that some ranks have and the others lack: `SummaryWriter() if rank == 0 else None`."""
    if a_mask & b_mask:
        return None
    for one, mask, two in ((a, a_mask, b), (b, b_mask, a)):
        is_truthy = is_true(one.object)
        if one.object is not None and two.object is None and (two.known or not is_truthy):
            atoms = tuple((one if mask & 1 << rank else two).at(rank) for rank in range(WORLD))
            return Value(atoms, Taint.RANK, one.object if two.known else None, one.tags | Tag.MAYBE)
    return None


def _choose_object(a: Value, b: Value, key: object) -> Value:
    if a.object == b.object:
        return a if not b.tags & ~a.tags else a.with_tags(a.tags | b.tags)
    for one, two in ((a, b), (b, a)):
        if one.object is not None and two.object is None and two.known:
            return one.tagged(Tag.MAYBE)
    one_of = containers.joined(a, b) or loader_join.shared(a, b)
    if one_of is not None:
        return one_of
    tags = (a.tags | b.tags) & (ORIGIN | MODEL | Tag.BATCH | Tag.MAYBE)
    one_sided = (a.tags & MODEL) != (b.tags & MODEL)
    value = unknown(key, "thing", tags=tags | Tag.MAYBE if one_sided else tags)
    return _own_data(value, a, b) if Taint.RANK_LOCAL in (a.taint, b.taint) else value


def _own_data(value: Value, a: Value, b: Value) -> Value:
    """Data of this rank on both paths, or on one path a tensor created as its replacement."""
    for side in (a, b):
        made_up = isinstance(side.object, Made) and side.object.path.startswith("torch.")
        made_up = made_up and side.taint in (Taint.GIVEN, Taint.UNKNOWN)
        if side.taint is not Taint.RANK_LOCAL and not made_up:
            return value
    atoms = tuple(atom._replace(taint=Taint.RANK_LOCAL) for atom in value.atoms)
    return value._replace(atoms=atoms, taint=Taint.RANK_LOCAL, tags=value.tags | ((a.tags | b.tags) & REASONS))
