"""Values that differ between processes by nature (ranks, clocks, the launcher's variables), and the world size."""

from __future__ import annotations

from ddpdoctor.lint.knowledge import vocabulary
from ddpdoctor.lint.knowledge.launchers import VARIABLES, Number
from ddpdoctor.lint.values.iteration import iterated_of
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import (
    FIRST_RANK,
    LOCAL_RANK_NUMBERS,
    RANK_NUMBERS,
    TRUE,
    WORLD,
    WORLD_NUMBER,
    Keywords,
    Taint,
    Value,
    const,
    lift,
    unknown,
)

#: functions that `source_of` knows
PATHS = (
    vocabulary.RANK_CALLS | vocabulary.LOCAL_RANK_CALLS | vocabulary.WORLD_CALLS | vocabulary.FIRST_RANK_CALLS
    | vocabulary.INITIALISED_CALLS | vocabulary.CLOCK_CALLS | {"os.environ.get", "os.getenv", "builtins.next"}
)  # fmt: skip


def source_of(path: str, args: tuple[Value, ...], keywords: Keywords) -> Value | None:
    """Ranks, world sizes, clocks, the environment."""
    whole = not args and not keywords
    if path in vocabulary.RANK_CALLS:
        none = len(args) == 1 and args[0].known and args[0].constant is None
        return RANK_NUMBERS if whole or none else unknown("group rank", path, args, taint=Taint.RANK, tags=Tag.IN_GROUP)
    if path in vocabulary.LOCAL_RANK_CALLS:
        return LOCAL_RANK_NUMBERS
    if path in vocabulary.WORLD_CALLS:
        return WORLD_NUMBER if whole else unknown("group size", path, args)
    if path in vocabulary.FIRST_RANK_CALLS:
        return FIRST_RANK
    if path in vocabulary.INITIALISED_CALLS:
        return TRUE
    if path in vocabulary.CLOCK_CALLS:
        return unknown("clock", path, taint=Taint.RANK_LOCAL, tags=Tag.TIME)
    if path in ("os.environ.get", "os.getenv"):
        return variable(args)
    return _next(args) if path == "builtins.next" else None


def _next(args: tuple[Value, ...]) -> Value | None:
    """`next(batches)`: a batch of this rank if they are; None if that is not known."""
    element = iterated_of(args[0])[1] if args else None
    if element is None or element.object is not None or element.taint is not Taint.RANK_LOCAL:
        return None
    return unknown("next", element.atoms, args[0].atoms, taint=Taint.RANK_LOCAL, tags=element.tags)


def variable(args: tuple[Value, ...]) -> Value | None:
    """The result of `os.environ.get`; its default is ignored."""
    name = args[0].constant if args else None
    return environment(name) or unknown("environ", str(name))


def environment(name: object) -> Value | None:
    """A launcher's variable, as the string that `os.environ` holds."""
    row = VARIABLES.get(name) if isinstance(name, str) else None
    if row is None:
        return None
    if row.holds is Number.WORLD:
        return const(str(WORLD)).tagged(Tag.WORLD)
    return lift("text", str, (RANK_NUMBERS if row.holds is Number.RANK else LOCAL_RANK_NUMBERS,))
