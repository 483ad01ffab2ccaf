"""Results of external calls from their arguments: casts, computed numbers, constructed objects."""

from __future__ import annotations

import ast
from collections.abc import Callable

from ddpdoctor.lint.interpreter import batches
from ddpdoctor.lint.knowledge import vocabulary
from ddpdoctor.lint.values import containers
from ddpdoctor.lint.values.abstract_objects import External, Items, Made, Namespace
from ddpdoctor.lint.values.tags import ANY_RANK, DATA, MADE_UP, ORIGIN, UNEQUAL, Tag, union
from ddpdoctor.lint.values.values import Keywords, Taint, Value, const, join_tags, lift, of_object, symbol, unknown
from ddpdoctor.program.sites import SourceSite

#: functions that give the type or shape of data
_KINDS = frozenset({
    "builtins.isinstance", "builtins.hasattr", "builtins.type", "builtins.callable", "builtins.id",
    "torch.is_tensor", "torch.is_floating_point", "torch.is_complex", "torch.numel",
})  # fmt: skip
#: functions that reduce a list to one number or tensor
_SUMMARIES = frozenset({
    "builtins.sum", "builtins.min", "builtins.max", "numpy.mean", "numpy.average", "numpy.sum", "numpy.nanmean",
    "numpy.median", "numpy.array", "statistics.mean", "statistics.fmean", "torch.stack", "torch.cat", "torch.tensor",
    "torch.mean", "torch.sum",
})  # fmt: skip
#: functions whose results differ between ranks if their arguments do
_OF_VALUES = frozenset(
    f"torch.{name}" for name in (
        "tensor", "as_tensor", "full", "sin", "cos", "tan", "tanh", "exp", "log", "sqrt", "abs", "where", "stack",
        "cat", "mean", "sum", "max", "min", "clamp", "pow", "roll", "linspace", "sigmoid", "add", "mul",
    )
)  # fmt: skip
CASTS: dict[str, Callable[..., object]] = {
    "builtins.int": int, "builtins.str": str, "builtins.bool": bool, "builtins.abs": abs,
    "builtins.len": len, "builtins.min": min, "builtins.max": max, "builtins.float": float,
}  # fmt: skip


def cast(path: str, args: tuple[Value, ...], site: SourceSite) -> Value:
    if path == "builtins.len" and not args[0].known:
        if isinstance(args[0].object, Items):
            return const(len(args[0].object.items))
        tags = (args[0].tags & DATA) | Tag.LENGTH
        # batches of samplers with equal lengths are equally many on all ranks, whatever they contain
        taint = Taint.RANK_LOCAL if args[0].tags & UNEQUAL and args[0].taint is Taint.RANK_LOCAL else Taint.UNKNOWN
        taint = Taint.GIVEN if args[0].taint is Taint.GIVEN else taint
        return unknown("len", args[0].atoms, taint=taint, tags=tags)
    if any(a.object is not None for a in args):
        args = tuple(map(containers.gathered, args))
        taint = Taint.RANK_LOCAL if any(a.taint is Taint.RANK_LOCAL for a in args) else Taint.UNKNOWN
        if all(a.taint <= Taint.GIVEN for a in args):
            taint = max(a.taint for a in args)
        return unknown(path, site, taint=taint, tags=join_tags(args) & DATA)
    return lift(path, CASTS[path], args)


def made_by(path: str, args: tuple[Value, ...], keywords: Keywords, site: SourceSite, node: ast.Call) -> Value:
    values = _given(path, args, keywords)
    tags = union(v.tags for v in values)
    pure = path.startswith(vocabulary.PURE_PREFIXES)
    # the type of data is equal on all ranks
    pure = pure and path not in _KINDS
    local = pure and any(v.taint is Taint.RANK_LOCAL for v in values)
    taint = Taint.RANK_LOCAL if local else Taint.GIVEN if _given_alike(path, values) else Taint.UNKNOWN
    kept = tags & DATA if pure else tags & ORIGIN
    if path in _SUMMARIES and tags & Tag.COLLECTED:
        taint, kept = Taint.RANK_LOCAL, kept | Tag.BATCH
    if _asks_for_sharding(path, args):
        kept |= Tag.ASKS_SHARDED
    if path in ("torch.initial_seed", "torch.seed"):
        kept |= Tag.SEEDED
    if path in ("math.ceil", "numpy.ceil"):
        kept |= Tag.CEIL
    if path in vocabulary.UNIQUE_CALLS:
        kept |= Tag.UNIQUE
    if path in ("os.path.join", "pathlib.Path", "builtins.str"):
        kept |= tags & (ANY_RANK | MADE_UP)
    if path in ("builtins.range", "numpy.arange", "torch.arange") and _strided(args, node):
        taint, kept = Taint.RANK_LOCAL, kept | Tag.SHARD
    if path in _OF_VALUES and any(v.taint is Taint.RANK and v.object is None for v in args):
        taint, kept = Taint.RANK_LOCAL, kept | Tag.OWN
    if path == "argparse.ArgumentParser.parse_args":
        return of_object(Namespace(site), site)
    if path == "torch.tensor" and values:
        taint = max((v.taint for v in values[:1] if v.taint is Taint.RANK_LOCAL), default=taint)
    return Value((symbol(path, site, taint=taint),), taint, Made(path, site, args, keywords, node), kept)


def _given_alike(path: str, values: tuple[Value, ...]) -> bool:
    """Whether it is computed from values that every rank is given alike, or read from a file that all of them read."""
    if path in vocabulary.CONFIGURATIONS:
        return not any(map(batches.differs, values))
    return path in vocabulary.RECKONING and bool(values) and all(v.taint <= Taint.GIVEN for v in values)


def _given(path: str, args: tuple[Value, ...], keywords: Keywords) -> tuple[Value, ...]:
    """All arguments; a list as its elements if the function reduces it."""
    values = (*args, *(v for _, v in keywords))
    return tuple(map(containers.gathered, values)) if path in _SUMMARIES else values


def _strided(args: tuple[Value, ...], node: ast.Call) -> bool:
    """`range(rank, len(data), world)`, or a range with a smaller end on some ranks: they get more or fewer elements."""
    if len(args) != 3 or not args[0].tags & Tag.RANK or not args[2].tags & Tag.WORLD:
        return False
    less = len(node.args) == 3 and isinstance(node.args[1], ast.BinOp) and isinstance(node.args[1].op, ast.Sub)
    return bool(args[1].tags & (Tag.LENGTH | Tag.RANK if less else Tag.LENGTH))


def _asks_for_sharding(path: str, args: tuple[Value, ...]) -> bool:
    """Whether it is `isinstance(x, DTensor)`, or a test with such a type in a tuple."""
    if path != "builtins.isinstance" or len(args) != 2:
        return False
    types = args[1]
    items = types.object.items if isinstance(types.object, Items) else (types,)
    return any(isinstance(i.object, External) and i.object.path.startswith("torch.distributed.") for i in items)
