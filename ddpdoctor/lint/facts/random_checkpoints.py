"""States of random generators that one rank saves in a checkpoint, and all ranks set when they load it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import blocks, seeds
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import frameworks, randomness
from ddpdoctor.lint.knowledge.randomness import Generator, Use
from ddpdoctor.lint.values import formulas, symbols
from ddpdoctor.lint.values.abstract_objects import Items, Made, Method, Table
from ddpdoctor.lint.values.tags import ANY_RANK, MADE_UP, Tag
from ddpdoctor.lint.values.values import Symbol, Value, symbol_key
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.enclosing import statements_around

_SAVING = frozenset(randomness.paths(Use.SAVES))
_RESTORING = randomness.paths(Use.RESTORES)
#: objects in objects that are looked into
_DEEPEST = 4


class Shared(NamedTuple):
    """A state of one rank that all ranks set, the call that saves it, and one that has seeded the ranks apart."""

    restored: CallEvent
    saved: CallEvent
    seeded: CallEvent


def shared(facts: ModuleFacts) -> Iterator[Shared]:
    """For each checkpoint that is loaded, the first state in it that makes ranks draw alike which were seeded apart."""
    saves = list(_saves(facts))
    told: set[int] = set()
    for call in facts.named(*_RESTORING) if saves else ():
        load = _load(facts, call)
        key = symbol_key(load.result) if load is not None else None
        if load is None or key is None or key in told or call.context.mask.bit_count() < 2 or _is_way_out(facts, call):
            continue
        saved = next((save for save, under in saves if _is_under(facts, call.args[0], under)), None)
        seeded = _seeded_apart(facts, call)
        if saved is not None and seeded is not None:
            told.add(key)
            yield Shared(call, saved, seeded)


def _is_way_out(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether another state is set on the other side of a condition around: this is for checkpoints without it."""
    module = blocks.module_of(facts, call.site)
    around = statements_around(module.tree, call.site.line) if module is not None else []
    others = {other.site.line for other in facts.named(*_RESTORING) if other.site.file == call.site.file}
    sides = (side for node in around if isinstance(node, ast.If) for side in (node.body, node.orelse) if side)
    spans = ((side[0].lineno, side[-1].end_lineno or side[-1].lineno) for side in sides)
    return any(
        first <= line <= last and not first <= call.site.line <= last for first, last in spans for line in others
    )


def _saves(facts: ModuleFacts) -> Iterator[tuple[CallEvent, set[str]]]:
    """Saves by one rank alone of what holds the state of one of its generators, and under which keys that is; none
    where all ranks save such a state, perhaps each in a file of its own."""
    found: list[tuple[CallEvent, set[str]]] = []
    for call in (*facts.named("torch.save"), *facts.methods("save")):
        under = _keys(call.args[0]) if call.args else None
        if under is None:
            continue
        if call.context.mask.bit_count() > 1 and seeds.kind_of(call) != frameworks.ACCELERATOR:
            return
        found.append((call, under))
    yield from found


def _keys(saved: Value) -> set[str] | None:
    """The keys of a saved object under which the state of a generator is; none for the object itself, and None if it
    holds no such state."""
    if not isinstance(saved.object, Table):
        return set() if _is_state(saved, _DEEPEST) else None
    return {str(key) for key, value in saved.object.entries if _is_state(value, _DEEPEST)} or None


def _is_state(value: Value, depth: int) -> bool:
    """Whether it is the state of a generator of this rank, or holds one, and none of another rank: what all ranks have
    gathered is a list."""
    obj = value.object
    if isinstance(obj, Made):
        return obj.path in _SAVING
    parts: tuple[Value, ...] = ()
    if isinstance(obj, Table):
        parts = tuple(v for _, v in obj.entries)
    elif isinstance(obj, Items):
        parts = obj.items
    return depth > 0 and any(_is_state(part, depth - 1) for part in parts)


def _load(facts: ModuleFacts, restored: CallEvent) -> CallEvent | None:
    """The load, of one file for all ranks, that a state is taken from, in a way that does not depend on the rank."""
    state = restored.args[0] if restored.args else None
    if state is None or _is_by_rank(state):
        return None
    origins = _origins(state)
    for load in facts.named("torch.load"):
        key, path = symbol_key(load.result), load.argument(0, "f")
        if key in origins and path is not None and not _is_by_rank(path) and not path.tags & (MADE_UP | Tag.OWN_FILE):
            return load
    return None


def _is_by_rank(value: Value) -> bool:
    return len(value.atoms) > 1 or bool(value.tags & (ANY_RANK | Tag.IN_GROUP | Tag.RANK_BY_NAME))


def _origins(value: Value) -> set[int]:
    """The unknowns that a value is computed from, or taken out of, through methods such as `cpu`."""
    keys = filter(None, map(symbol_key, (value, *_behind(value, _DEEPEST))))
    return {inner for key in keys for inner in formulas.inside(symbols.structures(), key)}


def _behind(value: Value, depth: int) -> Iterator[Value]:
    obj = value.object
    parts: tuple[Value, ...] = ()
    if isinstance(obj, Made):
        parts = obj.args[:1]
    elif isinstance(obj, Method):
        parts = (obj.receiver,)
    for part in parts if depth else ():
        yield part
        yield from _behind(part, depth - 1)


def _is_under(facts: ModuleFacts, state: Value, keys: set[str]) -> bool:
    """Whether a state was read under one of the keys, or is the whole of what was saved."""
    structures, origins = symbols.structures(), _origins(state)
    read = {text for key in origins for text in _texts(structures.get(key, ()))}
    taken = [call for call in facts.methods("get", "pop") if symbol_key(call.result) in origins and call.args]
    read |= {str(call.args[0].constant) for call in taken}
    return not read if not keys else not keys.isdisjoint(read)


def _texts(structure: tuple[object, ...]) -> Iterator[str]:
    """The constant key of `saved["rng"]`."""
    for part in structure[1:]:
        if isinstance(part, tuple) and not isinstance(part, Symbol):
            yield from (text for text in part if isinstance(text, str))


def _seeded_apart(facts: ModuleFacts, restored: CallEvent) -> CallEvent | None:
    """The call that has seeded the same generators by rank before, unless one does so after."""
    ours = set(map(_kin, randomness.FUNCTIONS[restored.path].generators))
    apart = [
        call for call in seeds.seedings(facts)
        if seeds.differs_by_rank(call) and ours & set(map(_kin, seeds.row(call).generators))
        and call.context.calls[:1] == restored.context.calls[:1]
    ]  # fmt: skip
    if any(call.index > restored.index for call in apart):
        return None
    return next(iter(apart), None)


def _kin(generator: Generator) -> Generator:
    """Torch's generators are seeded together."""
    return Generator.TORCH if generator is Generator.CUDA else generator
