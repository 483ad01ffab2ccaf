"""Results of external calls from their arguments: casts, computed numbers, constructed objects."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import lru_cache

from ddpdoctor.lint.interpreter import batches
from ddpdoctor.lint.interpreter.invocations import FunctionCall
from ddpdoctor.lint.knowledge import vocabulary
from ddpdoctor.lint.values import containers, set_orders
from ddpdoctor.lint.values.abstract_objects import External, Items, Made, Namespace
from ddpdoctor.lint.values.tags import (
    ANY_RANK,
    DATA,
    NO_TAGS,
    OF_ALL,
    ORIGIN,
    SAMPLES,
    UNEQUAL,
    Tag,
    Tags,
    made_up,
    union,
)
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
    "numpy.median", "numpy.array",
    "numpy.concatenate", "numpy.stack", "numpy.vstack", "numpy.hstack",
    "statistics.mean", "statistics.fmean", "torch.stack", "torch.cat", "torch.tensor",
    "torch.mean", "torch.sum",
})  # fmt: skip
#: functions whose results differ between ranks if their arguments do
_OF_VALUES = frozenset(
    f"torch.{name}" for name in (
        "tensor", "as_tensor", "full", "sin", "cos", "tan", "tanh", "exp", "log", "sqrt", "abs", "where", "stack",
        "cat", "mean", "sum", "max", "min", "clamp", "pow", "roll", "linspace", "sigmoid", "add", "mul",
    )
)  # fmt: skip
#: functions whose results are made of their arguments, and not only as large as they say
_HOLDING = _OF_VALUES | _SUMMARIES
#: functions that tell whether something holds of a number
_QUESTIONS = frozenset(
    f"{package}.{name}" for package in ("torch", "math", "numpy") for name in ("isnan", "isinf", "isfinite")
)
_COUNTING = frozenset({"builtins.range", "numpy.arange", "torch.arange"})
#: what they give has the arguments in it
_TEXTS = frozenset({"os.path.join", "pathlib.Path", "builtins.str"})
_TAGGED = {
    "torch.initial_seed": Tag.SEEDED,
    "torch.seed": Tag.SEEDED,
    "math.ceil": Tag.CEIL,
    "numpy.ceil": Tag.CEIL,
    **dict.fromkeys(vocabulary.UNIQUE_CALLS, Tag.UNIQUE),
}
CASTS: dict[str, Callable[..., object]] = {
    "builtins.int": int, "builtins.str": str, "builtins.bool": bool, "builtins.abs": abs,
    "builtins.len": len, "builtins.min": min, "builtins.max": max, "builtins.float": float,
}  # fmt: skip


def length_of(value: Value) -> Value:
    """The number of elements of something."""
    chosen = value.tags & Tag.LOCAL_CHOICE and containers.is_empty(value) is not None
    if isinstance(value.object, Items) and not chosen and not value.tags & Tag.GROWS:
        return const(len(value.object.items))
    tags = (value.tags & DATA & ~Tag.EVALUATED) | Tag.LENGTH
    if value.tags & Tag.PREPARED:
        tags |= Tag.OF_SHARE
    # batches of samplers with equal lengths are equally many on all ranks, whatever they contain
    unequal = chosen or value.tags & (UNEQUAL | SAMPLES)
    taint = Taint.RANK_LOCAL if unequal and value.taint is Taint.RANK_LOCAL else Taint.UNKNOWN
    taint = Taint.GIVEN if value.taint is Taint.GIVEN else taint
    return unknown("len", value.atoms, taint=taint, tags=tags)


def cast(path: str, args: tuple[Value, ...], site: SourceSite) -> Value:
    if path == "builtins.len" and not args[0].known:
        return length_of(args[0])
    if any(a.object is not None for a in args):
        args = tuple(map(containers.gathered, args))
        taint = Taint.RANK_LOCAL if any(a.taint is Taint.RANK_LOCAL for a in args) else Taint.UNKNOWN
        if all(a.taint <= Taint.GIVEN for a in args):
            taint = max(a.taint for a in args)
        return unknown(path, site, taint=taint, tags=join_tags(args) & (DATA | Tag.OF_SHARE))
    result = lift(path, CASTS[path], args)
    if path not in ("builtins.str", "builtins.int"):
        return result
    # the same number in another form
    return result.tagged(args[0].tags & Tag.SPAWNED | made_up(args[0].tags))


def made_by(call: FunctionCall) -> Value:
    """What a call gives of which no more is known than its arguments."""
    path, site = call.path, call.site
    if path == "argparse.ArgumentParser.parse_args":
        return of_object(Namespace(site), site)
    values = _given(path, call.args, call.keywords)
    taint, tags = _handed_on(path, values)
    tags |= _TAGGED.get(path, NO_TAGS)
    tags |= _of_all(path, values) | set_orders.of_call(path, call.args, call.node)
    if taint is Taint.RANK_LOCAL:
        tags |= _of_elements(path, values)
    if _asks_for_sharding(path, call.args):
        tags |= Tag.ASKS_SHARDED
    own = _own_of_each_rank(call)
    if own or (path == "torch.tensor" and values and values[0].taint is Taint.RANK_LOCAL):
        taint = Taint.RANK_LOCAL
    made = Made(path, site, call.args, call.keywords, call.node)
    # asked again of the same number, it answers the same
    asked = tuple(value.atoms for value in call.args) if path in _QUESTIONS and not call.keywords else site
    return Value((symbol(path, asked, taint=taint),), taint, made, tags | own)


def _handed_on(path: str, values: tuple[Value, ...]) -> tuple[Taint, Tags]:
    """What is known of the result by what is known of the arguments."""
    tags, local = NO_TAGS, False
    for value in values:
        tags |= value.tags
        local = local or value.taint is Taint.RANK_LOCAL
    pure = _is_pure(path)
    # a type, or whether it is one, is no model and no tensor
    kept = tags & (DATA | Tag.OF_SHARE) if pure else tags & ORIGIN if path not in _KINDS else NO_TAGS
    if path in _TEXTS:
        filled = Tag.FILLED if path == "os.path.join" else NO_TAGS
        kept |= tags & ANY_RANK | union(made_up(value.tags) for value in values) | filled
    if tags & Tag.COLLECTED and _summarises(path):
        return Taint.RANK_LOCAL, kept | Tag.BATCH | tags & Tag.EVALUATED
    if pure and local:
        return Taint.RANK_LOCAL, kept
    if path in _HOLDING and any(map(_agreed, values)):
        kept |= Tag.AGREED
    return Taint.GIVEN if _given_alike(path, values) else Taint.UNKNOWN, kept


#: functions that keep the order of what all ranks have
_KEEPING = frozenset({
    "builtins.list", "builtins.tuple", "torch.cat", "torch.concat", "torch.concatenate",
    "torch.nn.functional.normalize", "torch.transpose", "torch.t",
})  # fmt: skip
_PRODUCTS = frozenset({"torch.matmul", "torch.mm"})


def _of_all(path: str, values: tuple[Value, ...]) -> Tags:
    """Whether a function gives what all ranks have, or the product of something of this rank with that."""
    if path in _KEEPING and values:
        return values[0].tags & (OF_ALL | Tag.AGAINST_ALL)
    if path in _PRODUCTS and len(values) == 2:
        rows, columns = (value.tags & OF_ALL for value in values)
        return rows or (Tag.AGAINST_ALL | columns & Tag.NO_GRADIENT if columns else NO_TAGS)
    return NO_TAGS


def _of_elements(path: str, values: tuple[Value, ...]) -> Tags:
    """Whether a function of data picks elements out of it, or tells of each of them whether something holds."""
    if path in vocabulary.PICKING_CALLS or (path in vocabulary.PLACES and len(values) == 1):
        return Tag.UNEVEN
    of_tensors, _, name = path.rpartition(".")
    return Tag.MASK if of_tensors in ("torch", "numpy") and name in vocabulary.MASKING else NO_TAGS


@lru_cache(maxsize=1 << 12)
def _is_pure(path: str) -> bool:
    """Whether the result depends on the arguments alone; the type of data is equal on all ranks."""
    return path.startswith(vocabulary.PURE_PREFIXES) and path not in _KINDS


def _agreed(value: Value) -> bool:
    """Whether all ranks have, or may have, the same of it because a collective gave it to them."""
    return bool(value.tags & Tag.AGREED) or (value.taint is Taint.UNIFORM and not value.known)


def _own_of_each_rank(call: FunctionCall) -> Tags:
    """How the result differs by rank, where the call makes it so: a share of numbers, or a value of the rank."""
    if call.path in _COUNTING and _strided(call.args, call.node):
        return Tag.SHARD
    if call.path in _OF_VALUES and any(v.taint is Taint.RANK and v.object is None for v in call.args):
        return Tag.OWN
    return NO_TAGS


def _given_alike(path: str, values: tuple[Value, ...]) -> bool:
    """Whether it is computed from values that every rank is given alike, or read from a file that all of them read."""
    if path in vocabulary.CONFIGURATIONS:
        return not any(map(batches.differs, values))
    return path in vocabulary.RECKONING and bool(values) and all(v.taint <= Taint.GIVEN for v in values)


def _given(path: str, args: tuple[Value, ...], keywords: Keywords) -> tuple[Value, ...]:
    """All arguments; a list as its elements if the function reduces it."""
    values = (*args, *[v for _, v in keywords]) if keywords else args
    return tuple(map(containers.gathered, values)) if _summarises(path) else values


def _summarises(path: str) -> bool:
    return path in _SUMMARIES or path.startswith("sklearn.metrics.")


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
