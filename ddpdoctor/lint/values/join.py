"""The join of values where control flow meets: after a branch, a loop, a call with several returns."""

from __future__ import annotations

from ddpdoctor.lint.knowledge import vocabulary
from ddpdoctor.lint.values import containers, loader_join
from ddpdoctor.lint.values.abstract_objects import Instance, Items, Listed, Made, Table
from ddpdoctor.lint.values.symbols import operation
from ddpdoctor.lint.values.tags import MODEL, NO_TAGS, OF_ALL, OF_BATCH, ORIGIN, REASONS, SET_ORDER, Tag, Tags
from ddpdoctor.lint.values.truths import invert, is_true
from ddpdoctor.lint.values.values import EVERY_RANK, WORLD, Atom, Symbol, Taint, Value, per_rank, symbol, unknown
from ddpdoctor.model.record import record

#: what only holds of one of two values if it holds of both
_SURE = Tag.FILLED | Tag.GIVEN | Tag.IN_SET | SET_ORDER
_FILES = Tag.FILE | Tag.OWN_FILE
#: what a program that is not distributed uses in place of a rank, a sampler, a group
_STAND_INS = (0, -1, None, 1, False, True)
#: what is used in place of a GPU where there is none: `f"cuda:{rank}" if torch.cuda.is_available() else "cpu"`
_NO_DEVICE = ("cpu",)


@record(frozen=True, slots=True)
class Decision:
    """What decides which of two values a rank holds."""

    #: of the condition, rank by rank; nothing where no condition is seen
    truths: tuple[Atom, ...]
    #: its tags
    reasons: Tags = NO_TAGS

    @property
    def local(self) -> bool:
        """The condition asks for data of this rank."""
        return _asks(self.truths, Taint.RANK_LOCAL)


def merge(
    by: Decision, then: dict[str, Value], other: dict[str, Value], masks: tuple[int, int], key: object
) -> dict[str, Value]:
    """Variables after a branch: rank by rank, from the side that the rank took.

    `masks`, here and below: the ranks that can have taken the first side, and the second.
    """
    if not masks[0]:
        return other
    if not masks[1] or then == other:
        return then
    merged = dict(then)
    for name, a in then.items():
        b = other.get(name)
        if a is b:
            continue
        if b is None:
            merged[name] = a.tagged(Tag.MAYBE)
        elif a != b:
            merged[name] = choose(by, a, b, masks, (name, key))
    for name, b in other.items():
        if name not in then:
            merged[name] = b.tagged(Tag.MAYBE)
    return merged


def merge_stores(
    by: Decision, then: dict[tuple[int, str], Value], other: dict[tuple[int, str], Value], masks: tuple[int, int]
) -> dict[tuple[int, str], Value]:
    """Attributes after a branch. An attribute stored on one side only is kept if it is an object, or differs anyway."""
    if then == other:
        return then
    merged = {**other, **then} if masks[0] else {**then, **other}
    both = bool(masks[0] and masks[1])
    for key in [key for key in merged if then.get(key) is not other.get(key)]:
        a, b = then.get(key), other.get(key)
        if a is None or b is None:
            present = a if a is not None else b
            if present is None or present.object is not None or present.taint > Taint.UNKNOWN:
                continue
            untouched = Value((left_alone(*key),), Taint.UNKNOWN)
            a, b = (present, untouched) if a is not None else (untouched, present)
        elif not both:
            continue
        if a != b:
            merged[key] = choose(by, a, b, masks if both else (EVERY_RANK, EVERY_RANK), (key, "stored"))
    return merged


def choose(by: Decision, a: Value, b: Value, masks: tuple[int, int], key: object) -> Value:
    """One value out of two, given which ranks can hold which."""
    value = _chosen(by, a, b, masks, key)
    unsure = value.tags & _SURE & ~(a.tags & b.tags)
    if unsure:
        value = value.with_tags(value.tags & ~unsure)
    if value.taint is not Taint.RANK_LOCAL or by.local:
        return value
    none = any(v.known and v.constant is None for v in (a, b))
    return value.tagged(Tag.OPTIONAL) if none else value


def _asks(truths: tuple[Atom, ...], taint: Taint) -> bool:
    """Whether the condition is unknown on some rank, with this taint."""
    for truth in truths:  # noqa: SIM110 - asked of every join
        if truth.__class__ is Symbol and truth.taint is taint:
            return True
    return False


def _chosen(by: Decision, a: Value, b: Value, masks: tuple[int, int], key: object) -> Value:
    if a.object is not None or b.object is not None:
        return _of_objects(by, a, b, masks, key)
    if len(a.atoms) > 1 or len(b.atoms) > 1:
        for one, two in ((a, b), (b, a)):
            if _in_place_of(one, two, by.truths):
                return one
    if masks[0] & masks[1] and not by.local:
        stronger = _not_stand_in(a, b) or _not_stand_in(b, a)
        if stronger is not None:
            return stronger
        if _agreed(a, b) or _agreed(b, a):
            return unknown(key, "agreed", tags=(a.tags | b.tags) & ORIGIN)
    return _rank_by_rank(by, a, b, masks, key)


def _of_objects(by: Decision, a: Value, b: Value, masks: tuple[int, int], key: object) -> Value:
    if by.local and _is_data_or_none(a, b):
        return _rank_by_rank(by, a.with_object(None), b.with_object(None), masks, key)
    pairs = containers.pairs(a, b)
    if pairs is not None:
        items = (choose(by, x, y, masks, (key, i)) for i, (x, y) in enumerate(pairs))
        return unknown(key, "items", tags=a.tags | b.tags).with_object(Items(tuple(items)))
    by_rank = containers.by_rank(a, b, masks)
    if by_rank is not None:
        return unknown(key, "by rank", tags=(a.tags | b.tags) & (ORIGIN | OF_BATCH)).with_object(by_rank)
    chosen = _on_some_ranks(a, b, masks) or _choose_object(a, b, key)
    if by.local and chosen.taint is Taint.UNKNOWN and _are_numbers(a, b):
        atom = symbol(key, "chosen", taint=Taint.RANK_LOCAL)
        why = by.reasons & REASONS | Tag.LOCAL_CHOICE
        return chosen._replace(atoms=(atom,), taint=Taint.RANK_LOCAL, tags=chosen.tags | why)
    if by.local and {containers.is_empty(a), containers.is_empty(b)} == {True, False}:
        # `if not losses`, where `{}` or `{"centre": loss}` was returned for this batch
        why = by.reasons & REASONS | Tag.LOCAL_CHOICE
        atom = symbol(key, "filled", taint=Taint.RANK_LOCAL)
        return chosen._replace(atoms=(atom,), taint=Taint.RANK_LOCAL, tags=chosen.tags | why)
    if by.local and _is_object_or_none(a, b) and len(chosen.atoms) == 1 and isinstance(chosen.atoms[0], Symbol):
        # `if rollout is None`, where there was nothing to train on for this rank; its attributes stay known
        why = by.reasons & REASONS | Tag.LOCAL_CHOICE
        there = chosen.atoms[0]._replace(taint=Taint.RANK_LOCAL)
        return chosen._replace(atoms=(there,), taint=Taint.RANK_LOCAL, tags=chosen.tags | why)
    tags = a.tags | b.tags
    uneven = bool(tags & Tag.UNEVEN) and not tags & Tag.FILLED_UP
    return containers.uneven(chosen, tags & REASONS) if uneven else chosen


def _is_data_or_none(a: Value, b: Value) -> bool:
    """Whether one is data of this rank and the other None: which it has, differs as the data does."""
    return any(one.taint is Taint.RANK_LOCAL and two.known and two.constant is None for one, two in ((a, b), (b, a)))


def _is_object_or_none(a: Value, b: Value) -> bool:
    """Whether one is an object of the project, or a container, and the other None."""
    return any(
        isinstance(one.object, (Instance, Items, Listed, Table)) and two.known and two.constant is None
        for one, two in ((a, b), (b, a))
    )


def _rank_by_rank(by: Decision, a: Value, b: Value, masks: tuple[int, int], key: object) -> Value:
    """On each rank what it can hold; a new unknown where it can hold either."""
    if a.tags & b.tags & Tag.OF_ROOT and a.taint is b.taint is Taint.RANK_LOCAL:
        # `if rank == 0: total /= world_size`, where that rank alone has the total
        return unknown(key, "of root", taint=Taint.RANK_LOCAL, tags=a.tags | b.tags)
    local = by.local
    least = Taint.FILES if _asks(by.truths, Taint.FILES) else _of_condition(by.truths)
    joined = symbol(key, "join", taint=Taint.RANK_LOCAL if local else max(a.taint, b.taint, least))
    plain = len(a.atoms) == len(b.atoms) == 1
    atoms: list[Atom] = []
    for rank in range(1 if plain and masks[0] == masks[1] == EVERY_RANK else WORLD):
        bit = 1 << rank
        x, y = a.at(rank), b.at(rank)
        if not masks[1] & bit or (type(x) is type(y) and x == y):
            atoms.append(x)
        elif not masks[0] & bit:
            atoms.append(y)
        elif type(x) is type(y) is bool and len(by.truths) == 1 and isinstance(by.truths[0], Symbol) and not local:
            # the two are different: it is the condition itself, or its opposite
            atoms.append(by.truths[0] if x else invert(by.truths[0]))
        else:
            atoms.append(joined)
    value = per_rank(atoms, a.tags | b.tags)
    # the condition's tags say how the ranks differ
    why = by.reasons & REASONS | Tag.LOCAL_CHOICE if local else by.reasons & _FILES
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
    if before is None:
        return value
    untouched = left_alone(key, name)
    if untouched not in value.atoms or (before.object is not None and value.object is not None):
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
    if stand_in.known and stand_in.atoms == _NO_DEVICE and all(map(_is_device, value.atoms)):
        return value
    return None


def _is_device(atom: Atom) -> bool:
    return isinstance(atom, str) and atom.startswith("cuda:")


def _on_some_ranks(a: Value, b: Value, masks: tuple[int, int]) -> Value | None:
    """A value that some ranks have and the others lack: `SummaryWriter() if rank == 0 else None`."""
    if masks[0] & masks[1]:
        return None
    for one, mask, two in ((a, masks[0], b), (b, masks[1], a)):
        is_truthy = is_true(one.object)
        if one.object is not None and two.object is None and (two.known or not is_truthy):
            atoms = tuple((one if mask & 1 << rank else two).at(rank) for rank in range(WORLD))
            return Value(atoms, Taint.RANK, one.object if two.known else None, one.tags | Tag.MAYBE)
    return None


def _are_numbers(a: Value, b: Value) -> bool:
    """Whether both are tensors made of numbers, and these differ: `torch.tensor(0)` and `torch.tensor([1])`."""
    made = [v.object for v in (a, b) if isinstance(v.object, Made) and v.object.path in vocabulary.TENSORS]
    given = [one.args[0] for one in made if one.args]
    return len(given) == 2 and given[0] != given[1] and all(map(_is_constant, given))


def _is_constant(value: Value) -> bool:
    parts = containers.parts_of(value)
    return value.known if parts is None else all(part.known for part in parts)


def _choose_object(a: Value, b: Value, key: object) -> Value:
    if a.object == b.object:
        # a tensor that was changed in place on one side by what this rank has
        kept = b if b.taint is Taint.RANK_LOCAL else a
        return kept if not (a.tags | b.tags) & ~kept.tags else kept.with_tags(a.tags | b.tags)
    for one, two in ((a, b), (b, a)):
        if one.object is not None and two.object is None and two.known:
            return one.tagged(Tag.MAYBE)
    one_of = containers.joined(a, b) or loader_join.shared(a, b)
    if one_of is not None:
        return one_of
    # one process gathers nothing: `return x if world == 1 else torch.cat(every(x))`
    tags = (a.tags | b.tags) & (ORIGIN | MODEL | OF_BATCH | Tag.MAYBE | SET_ORDER | OF_ALL | Tag.AGAINST_ALL)
    one_sided = (a.tags & MODEL) != (b.tags & MODEL)
    value = unknown(key, "thing", tags=tags | Tag.MAYBE if one_sided else tags)
    return _own_data(value, a, b) if Taint.RANK_LOCAL in (a.taint, b.taint) else value


def _own_data(value: Value, a: Value, b: Value) -> Value:
    """Data of this rank on both paths, or on one path a tensor created as its replacement; not one that was made of
    what all ranks have.
    """
    for side in (a, b):
        made_up = isinstance(side.object, Made) and side.object.path.startswith("torch.")
        made_up = made_up and side.taint in (Taint.GIVEN, Taint.UNKNOWN) and not side.tags & Tag.AGREED
        if side.taint is not Taint.RANK_LOCAL and not made_up:
            return value
    atoms = tuple(atom._replace(taint=Taint.RANK_LOCAL) for atom in value.atoms)
    return value._replace(atoms=atoms, taint=Taint.RANK_LOCAL, tags=value.tags | ((a.tags | b.tags) & REASONS))
