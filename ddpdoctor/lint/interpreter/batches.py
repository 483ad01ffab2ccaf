"""A loader's batches on each rank: a share of the data, or all of it in the same order."""

from __future__ import annotations

import ast
from collections import Counter

from ddpdoctor.lint.interpreter.events import Context
from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.knowledge import aliases, vocabulary
from ddpdoctor.lint.values.abstract_objects import Instance, Items, Made
from ddpdoctor.lint.values.tags import OF_BATCH, SHARED_OUT, Tag
from ddpdoctor.lint.values.values import Taint, Value, unknown
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.text import text_of

#: depends on the rank, also as what `bounds[rank]` gives
_BY_RANK = SHARED_OUT | Tag.RANK_BY_NAME | Tag.IN_GROUP | Tag.PREPARED


def same_everywhere(over: Value) -> bool:
    """Whether every rank iterates over all data: an evaluation that each rank repeats, and whose results do not depend
    on the order."""
    made = over.object
    if not isinstance(made, Made) or made.path != aliases.LOADER or made.opaque or over.tags & _BY_RANK:
        return False
    shuffle = made.argument(2, "shuffle")
    chosen = (made.argument(3, "sampler"), made.argument(4, "batch_sampler"))
    if any(v is not None and not (v.known and v.constant is None) for v in chosen):
        return False
    ordered = shuffle is None or (shuffle.known and shuffle.constant is False)
    whole = ordered or made.argument(8, "drop_last") is None
    dataset = made.argument(0, "dataset")
    return whole and dataset is not None and not differs(dataset)


def differs(value: Value, depth: int = 0) -> bool:
    """Whether the data, or something that it is made from, depends on the rank."""
    if value.tags & _BY_RANK or len(value.atoms) > 1:
        return True
    obj = value.object
    if isinstance(obj, (Instance, Made)) and depth < 3:
        return any(differs(v, depth + 1) for v in (*obj.args, *(v for _, v in obj.keywords)))
    return False


def trained_on(frame: Frame, args: tuple[Value, ...]) -> bool:
    """Whether a wrapped model is called with a batch of this rank, so that gradients are averaged over ranks.

    If nothing else is known of it, a `backward` in the same function shows that it is not an evaluation.
    """
    if frame.no_grad or not in_batches(frame) or all(v.known or v.taint is Taint.UNIFORM for v in args):
        return False
    node = frame.function.node if frame.function is not None else frame.module.tree
    return any(isinstance(n, ast.Attribute) and n.attr == "backward" for n in walk(node))


def in_batches(frame: Frame) -> bool:
    """Whether the innermost loop goes through something else than numbers, which are batches unless something else is
    known, or takes the next one of something in each turn."""
    if not frame.loops:
        return False
    over = frame.loops[-1].over
    if over is not None and not (isinstance(over.object, Made) and over.object.path == "builtins.range"):
        return True
    return _takes_next(frame.loops[-1].node)


def taken(frame: Frame, loop: ast.AST, over: Value, element: Value) -> Value:
    """A batch, or its parts, as a loop takes it: the same on all ranks, or one that it evaluates on."""
    if not evaluates(frame, loop):
        return element
    return alike(element) if same_everywhere(over) else _of_evaluation(element)


def _of_evaluation(element: Value) -> Value:
    if isinstance(element.object, Items):
        return element.with_object(Items(tuple(map(_of_evaluation, element.object.items))))
    return element.tagged(Tag.EVALUATED | Tag.EXAMPLE) if element.tags & Tag.BATCH else element


def evaluates(here: Frame | Context, loop: ast.AST) -> bool:
    """Whether nothing in a loop trains, and it computes without gradients, or the function around it has put a network
    into evaluation before."""
    called = _called_in(loop)
    training = called & vocabulary.TRAINING
    if training and not (training == {"zero_grad"} and only_clears(loop)):
        return False
    if here.no_grad or not called.isdisjoint(vocabulary.WITHOUT_GRADIENTS):
        return True
    function = here.function.node if here.function is not None else None
    return function is not None and mode_before(function, getattr(loop, "lineno", 0)) == "eval"


def only_clears(loop: ast.AST) -> bool:
    """Whether a loop clears the gradients of optimizers that it does nothing else with: an evaluation may do so, too. A
    function that is given an optimizer may train with it."""
    nodes = walk(loop)
    cleared = {
        text_of(node.func.value)
        for node in nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "zero_grad"
    }
    named = Counter(text_of(node) for node in nodes if isinstance(node, (ast.Name, ast.Attribute)))
    clears = Counter(
        text_of(node.value) for node in nodes if isinstance(node, ast.Attribute) and node.attr == "zero_grad"
    )
    return all(named[text] == clears[text] for text in cleared)


def mode_before(part: ast.AST, line: int) -> str:
    """The mode that a network was put into last in a part of the source before a line: "train", "eval", or "" if it is
    not said."""
    known: list[tuple[int, str]] | None = part.__dict__.get("_modes_in")
    if known is None:
        calls = (node for node in walk(part) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute))
        known = [(node.lineno, name) for node in calls if (name := last_name(node.func)) in _MODES]
        part.__dict__["_modes_in"] = known
    return max(((at, mode) for at, mode in known if at < line), default=(0, ""))[1]


#: methods that put a network into evaluation, and into training
_MODES = frozenset({"eval", "train"})


def _called_in(part: ast.AST) -> frozenset[str]:
    """The last names of what is called in a part of the source."""
    known: frozenset[str] | None = part.__dict__.get("_called_in")
    if known is None:
        called = (last_name(node.func) for node in walk(part) if isinstance(node, ast.Call))
        known = part.__dict__["_called_in"] = frozenset(called)
    return known


def _takes_next(loop: ast.AST) -> bool:
    return "next" in _called_in(loop)


def alike(element: Value) -> Value:
    """A batch that is equal on all ranks, so that no rank takes another decision because of it."""
    if isinstance(element.object, Items):
        return element.with_object(Items(tuple(alike(i) for i in element.object.items)))
    if not element.tags & Tag.BATCH:
        return element
    return unknown("same batch", element.atoms, taint=Taint.UNKNOWN, tags=element.tags & ~OF_BATCH)
