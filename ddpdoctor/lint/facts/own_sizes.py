"""Tensors of which each rank decides by itself how large they are, by what they were made of."""

from __future__ import annotations

import ast

from ddpdoctor.lint.facts import loaders
from ddpdoctor.lint.facts.loaders import Share
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter import loop_extent
from ddpdoctor.lint.interpreter.events import Iteration
from ddpdoctor.lint.knowledge import vocabulary
from ddpdoctor.lint.values import containers
from ddpdoctor.lint.values.abstract_objects import Items, Listed, Made, Method
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import WORLD, Taint, Value
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.sites import SourceSite

#: functions whose result has as many elements as the data decides
_PICKING = vocabulary.PICKING | vocabulary.PICKING_CALLS | {f"torch.{name}" for name in vocabulary.PICKING}
#: functions that make one tensor of a list
_JOINING = frozenset({
    *(f"torch.{name}" for name in ("cat", "concat", "concatenate", "stack", "tensor", "as_tensor", "hstack", "vstack")),
    *(f"numpy.{name}" for name in ("concatenate", "stack", "vstack", "hstack", "array", "asarray")),
    *(f"torch.{kind}Tensor" for kind in ("Long", "Float", "Int", "Byte")),
})  # fmt: skip
#: a function that makes the tensors of a list as long as the longest of them
_PADDING = "torch.nn.utils.rnn.pad_sequence"
#: methods and functions whose result has the elements of their tensor, or as many
_KEEPING = frozenset({
    "cuda", "cpu", "to", "float", "double", "half", "long", "int", "contiguous", "detach", "clone", "numpy", "flatten",
    "squeeze", "unsqueeze", "narrow", "sigmoid", "softmax", "exp", "log", "abs", "masked_fill", "type_as", "bool",
    "torch.from_numpy", "torch.as_tensor", "torch.tensor", "torch.sigmoid", "torch.exp", "torch.log",
    "torch.nn.functional.normalize", "torch.nn.functional.softmax",
})  # fmt: skip
#: methods of methods that are followed
_DEEPEST = 8


def made_of(value: Value) -> tuple[str, Value | None]:
    """The function or method that a value comes from, and what that was given first: ("torch.cat", the list)."""
    obj = value.object
    if isinstance(obj, Method):
        return obj.name, obj.receiver
    if isinstance(obj, Made) and obj.args:
        return obj.path.removeprefix("?."), obj.args[0]
    return "", None


def kept_of(value: Value) -> Value:
    """What a tensor was before it was moved, or changed element by element."""
    for _ in range(_DEEPEST):
        name, of = made_of(value)
        if of is None or name not in _KEEPING:
            break
        value = of
    return value


def is_picked(value: Value, depth: int = 0) -> bool:
    """Whether this rank's data decides how many elements a tensor has."""
    name, of = made_of(value)
    if of is None or depth > _DEEPEST:
        return False
    if name in _PICKING:
        return of.taint is Taint.RANK_LOCAL
    if name == _PADDING:
        return containers.gathered(of).taint is Taint.RANK_LOCAL
    if name in _JOINING:
        return _is_joined_of_picked(of, depth)
    return name in _KEEPING and is_picked(of, depth + 1)


def _is_joined_of_picked(of: Value, depth: int) -> bool:
    """Whether a list has as many elements as this rank's data decides, or one that has."""
    if isinstance(of.object, Items):
        return any(is_picked(item, depth + 1) for item in of.object.items)
    if not isinstance(of.object, Listed):
        return False
    element = of.object.element
    uneven = bool(of.tags & Tag.UNEVEN) and not of.tags & Tag.FILLED_UP
    return uneven or (element is not None and is_picked(element, depth + 1))


def behind_joined(value: Value, depth: int = 0) -> tuple[Value, ...]:
    """What a tensor was before it was moved; of one that was put together, what its parts were."""
    kept = kept_of(value)
    name, of = made_of(kept)
    if name not in _JOINING or of is None or depth > _DEEPEST:
        return (kept,)
    parts = of.object.items if isinstance(of.object, Items) else ()
    if isinstance(of.object, Listed) and of.object.element is not None:
        parts = (of.object.element,)
    return tuple(one for part in parts for one in behind_joined(part, depth + 1))


#: functions that make a tensor of the size in their arguments
_OF_SIZE = frozenset(f"torch.{name}" for name in ("zeros", "ones", "empty", "rand", "randn", "arange"))


def sizes(value: Value, mask: int) -> dict[int, tuple[int, ...]]:
    """The size of a tensor on each rank of a mask, where the program names it in numbers that differ by rank; empty if
    it does not."""
    made = kept_of(value).object
    if not isinstance(made, Made) or made.path not in _OF_SIZE or made.opaque:
        return {}
    of = made.args[0].object.items if made.args and isinstance(made.args[0].object, Items) else made.args
    if made.path == "torch.arange" and len(of) != 1:
        return {}
    found = {rank: tuple(part.at(rank) for part in of) for rank in range(WORLD) if mask & 1 << rank}
    named = all(type(number) is int for size in found.values() for number in size)
    return found if named and len(set(found.values())) > 1 else {}


class ShareOfData(NamedTuple):
    """Where a list gets an element for each one of a rank's share of the data."""

    site: SourceSite
    #: from a loader, of data that is most often chosen so that it divides evenly
    of_batches: bool


def filled_by_shares(facts: ModuleFacts) -> list[Iteration]:
    """Loops over shares of data that may be longer on some ranks."""
    return [
        iteration for iteration in facts.iterations
        if iteration.loop.over is not None
        and not loop_extent.limited(iteration.loop)
        and loaders.share_of(facts, iteration.loop.over) is Share.CUT
    ]  # fmt: skip


def share_behind(value: Value, filled: list[Iteration], depth: int = 0) -> ShareOfData | None:
    """The list with an element for each one of a rank's share that a tensor is made of."""
    name, of = made_of(value)
    if of is None:
        return None
    if name not in _JOINING or not isinstance(of.object, Listed):
        return share_behind(of, filled, depth + 1) if name in _KEEPING and depth < _DEEPEST else None
    if of.tags & Tag.FILLED_UP:
        return None
    if of.tags & Tag.SHARD:
        return ShareOfData(of.object.site, of_batches=False)
    listed = of.object
    loop = next((one.loop for one in filled if _is_within(listed, one)), None)
    return ShareOfData(loop.site, loaders.loader_of(loop.over) is not None) if loop is not None else None


def _is_within(listed: Listed, iteration: Iteration) -> bool:
    """Whether a list was added to in a loop, and nowhere further inside."""
    loop = iteration.loop.site
    inside = listed.site.file == loop.file and loop.line <= listed.site.line <= loop.end_line
    return inside and isinstance(iteration.loop.node, (ast.For, ast.AsyncFor)) and _adds(iteration.loop.node, listed)


def _adds(loop: ast.For | ast.AsyncFor, listed: Listed) -> bool:
    """Whether the loop adds to a list in each turn, where the list has its last element from."""
    return any(
        isinstance(node, ast.Call) and last_name(node.func) == "append" and node.lineno == listed.site.line
        for node in walk(loop)
    )
