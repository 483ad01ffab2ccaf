"""Data partitioned by rank so that ranks can get more or fewer elements than others."""

from __future__ import annotations

from ddpdoctor.lint.values.abstract_objects import Items, Made, Method, Table
from ddpdoctor.lint.values.tags import NO_TAGS, SHARES, Tag, Tags
from ddpdoctor.lint.values.values import WORLD, Taint, Value

#: split data into parts that can differ in size
_CUTTING = frozenset({"numpy.array_split", "torch.tensor_split", "torch.chunk", "?.tensor_split", "?.chunk"})


ENDLESS = frozenset({"itertools.count", "itertools.cycle"})


def by_rank(condition: Value) -> bool:
    """For `index % world_size == rank`: the elements that pass are this rank's share, and shares differ by
    one at most.
    """
    return bool(condition.tags & Tag.RANK and condition.tags & Tag.WORLD) and not condition.known


def is_share(over: Value) -> bool:
    """Whether it is a share of data itself, not a loader's batches of one: what is made of each element is one, too."""
    whole = over.tags & (Tag.SHARD | Tag.CUT | Tag.PART) == Tag.SHARD
    return whole and over.taint is Taint.RANK_LOCAL and not isinstance(over.object, (Made, Items, Table))


#: functions that give a list's elements in another list
_LISTING = frozenset({"builtins.sorted", "builtins.list", "builtins.tuple", "builtins.reversed"})


def piece(value: Value) -> Tags:
    """Of what share of the data a list has some elements: `share[start : start + window]`, perhaps sorted."""
    obj = value.object
    plain = obj is None or (isinstance(obj, Made) and obj.path in _LISTING)
    return value.tags & SHARES if plain and not value.known else NO_TAGS


#: functions and methods that give the places of elements, each once, in an order that these or a draw decide
_ORDERING = frozenset({"argsort", "randperm", "permutation", "lexsort"})
#: functions and methods that give a list or a tensor in pieces, one after the other
_CUTTING_UP = frozenset({"split", "chunk", "tensor_split", "torch.split", "torch.chunk", "torch.tensor_split"})


def reordered(rows: Value, index: Value) -> Tags:
    """Of what share of the data the elements are that are taken in an order of their own:
    `share[lengths[share].argsort()]`."""
    obj = index.object
    name = obj.name if isinstance(obj, Method) else obj.path if isinstance(obj, Made) else ""
    return piece(rows) if name.rpartition(".")[2] in _ORDERING else NO_TAGS


def cut_up(parts: Value) -> Value | None:
    """The share of the data that `share.split(256)` gives in pieces; None for anything else."""
    obj = parts.object
    if isinstance(obj, Method):
        name, of = obj.name, obj.receiver
    elif isinstance(obj, Made) and obj.args:
        name, of = obj.path.removeprefix("?."), obj.args[0]
    else:
        return None
    return of if name in _CUTTING_UP and piece(of) else None


def part_of(parts: Value, index: Value) -> bool:
    """`numpy.array_split(rows, world_size)[rank]`."""
    obj = parts.object
    if not isinstance(obj, Made) or obj.path not in _CUTTING or not index.tags & Tag.RANK:
        return False
    return any(v.tags & Tag.WORLD for v in (*obj.args, *(v for _, v in obj.keywords)))


def even(parts: Value) -> bool:
    """`rows.tensor_split(n * world_size)`: of so many parts, each rank gets the same number. So it may of what was cut
    or filled up to a length that the world size decides."""
    obj = parts.object
    if parts.tags & Tag.WORLD:
        return True
    return isinstance(obj, Made) and obj.path in _CUTTING and any(v.tags & Tag.WORLD for v in obj.args[1:])


#: functions that give numbers from nought on, in any order
_COUNTING = frozenset({
    "builtins.range", "torch.arange", "torch.randperm", "numpy.arange", "numpy.random.permutation",
})  # fmt: skip


def counted(rows: Value) -> Tags:
    """Whether it is a list of numbers of which the program says how many: `torch.randperm(shards).tolist()`."""
    obj = rows.object
    while True:
        if isinstance(obj, Method) and obj.name == "tolist":
            obj = obj.receiver.object
        elif isinstance(obj, Made) and obj.path in _LISTING and obj.args:
            obj = obj.args[0].object
        else:
            return Tag.COUNTED if isinstance(obj, Made) and obj.path in _COUNTING else NO_TAGS


def strided(over: Value, bounds: tuple[Value, ...]) -> bool:
    """`islice(lines, rank, None, world_size)` of something finite."""
    if len(bounds) != 3 or not bounds[1].known or bounds[1].constant is not None:
        return False
    endless = bool(over.tags & Tag.ENDLESS) or (isinstance(over.object, Made) and over.object.path in ENDLESS)
    return bool(bounds[0].tags & Tag.RANK and bounds[2].tags & Tag.WORLD) and not endless


def rest_for_one(length: Value, upper: Value) -> bool:
    """`end = len(rows) if rank == world_size - 1 else start + part`: the last rank has the remainder as well."""
    last = upper.at(WORLD - 1)
    return len(upper.atoms) > 1 and last == length.atoms[0] and upper.at(0) != last
