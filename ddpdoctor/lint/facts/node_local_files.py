"""Files on a disk of each machine that the first rank of the job alone makes, and that all ranks then read."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from enum import Enum

from ddpdoctor.lint.facts import paths, touched_files
from ddpdoctor.lint.facts.exclusion import contradict
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.facts.touched_files import Touch
from ddpdoctor.lint.facts.turns import same_root
from ddpdoctor.lint.interpreter.events import CallEvent, Guard
from ddpdoctor.lint.knowledge import filesystem, heuristics
from ddpdoctor.lint.knowledge.filesystem import Use
from ddpdoctor.lint.values.symbols import structures
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import RANK_ZERO, Taint
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.nodes import last_name
from ddpdoctor.program.text import expression_of


class Local(Enum):
    """How it is known that a path is on a disk of each machine."""

    #: a folder that is on each machine, or a variable that names one
    SAID = "said"
    #: such a folder where an option does not give another one, or a name that speaks of one
    SUGGESTED = "suggested"


class MissingElsewhere(NamedTuple):
    """What the other machines do not have: where it is made, the condition on the rank, and where it is read."""

    writer: CallEvent
    guard: Guard
    reader: CallEvent
    local: Local


def found(facts: ModuleFacts) -> Iterator[MissingElsewhere]:
    """One for each path, where it is made last before it is read."""
    touched = touched_files.touches(facts)
    made = [(t, g) for t in touched if t.use in filesystem.CHANGES and (g := _first_of_job(t.call)) is not None]
    told: set[object] = set()
    for writer, guard in reversed(made):
        reader = next((t for t in touched if misses(t, writer)), None)
        if reader is None or writer.parts in told or any(_makes(t, writer, reader) for t in touched):
            continue
        told.add(writer.parts)
        local = _local(facts, writer)
        if local is not None:
            yield MissingElsewhere(writer.call, guard, reader.call, local)


def _first_of_job(call: CallEvent) -> Guard | None:
    """The condition that lets the first rank of the job alone come to a call, if nothing in it or in the others speaks
    of machines."""
    guards = call.context.guards
    if call.context.mask != RANK_ZERO or any(heuristics.ASKS_FOR_NODES.found_in(g.text.lower()) for g in guards):
        return None
    ranked = [guard for guard in guards if len(guard.truth) > 1]
    if any(guard.value.tags & Tag.LOCAL_RANK for guard in ranked):
        return None
    return next((guard for guard in ranked if guard.value.tags & Tag.RANK), None)


def misses(reader: Touch, writer: Touch) -> bool:
    """Whether other ranks come to a call that fails without the file: not one that asks for it first."""
    call, made = reader.call, writer.call
    if call.index < made.index or not same_root(call.context, made.context) or not touched_files.needs(reader, writer):
        return False
    if not call.context.mask & ~made.context.mask or call.context.handler == "try":
        return False
    asked = (guard.value for guard in call.context.guards)
    if any(value.tags & Tag.FILE or value.taint is Taint.FILES for value in asked):
        return False
    return not contradict((*made.context.guards, *call.context.guards))


def _makes(other: Touch, writer: Touch, reader: Touch) -> bool:
    """Whether another rank of each machine, or all of them, have made the path as well."""
    if other.use not in filesystem.CHANGES or other.use is Use.REMOVES or other.call.index > reader.call.index:
        return False
    same = other.parts == writer.parts or touched_files.makes_around(other, writer.parts)
    return same and _first_of_job(other.call) is None


def _local(facts: ModuleFacts, touch: Touch) -> Local | None:
    """What says that a path is on a disk of each machine; None if nothing does."""
    if _begins_locally(touch):
        return Local.SAID
    node = _written(touch.call)
    if node is None:
        return None
    texts = [*paths.expressions(touch.call, node), *paths.given_for(facts, touch.call, node)]
    parts = [part for tree in filter(None, map(expression_of, texts)) for part in _beginning(tree)]
    if any(map(_names_local, parts)):
        return Local.SAID
    suggested = heuristics.ON_EACH_NODE.found_in_any(texts) or any(map(_names_local, _defaults(facts, parts)))
    return Local.SUGGESTED if suggested else None


def _beginning(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of an expression by which a path may begin: of `folder + "/tmp/rows"` the folder alone."""
    yield node
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Div, ast.Mod)):
        yield from _beginning(node.left)
    elif isinstance(node, ast.JoinedStr):
        yield from (part for value in node.values[:1] for part in _beginning(value))
    else:
        yield from (part for child in ast.iter_child_nodes(node) for part in _beginning(child))


def _defaults(facts: ModuleFacts, parts: list[ast.AST]) -> Iterator[ast.expr]:
    """What the options are, where nobody gives them, that an expression reads: `args.scratch`."""
    for name in {part.attr for part in parts if isinstance(part, ast.Attribute)}:
        options = (option for module in facts.modules for option in module.options.get(name, ()))
        yield from (option.default for option in options if option.default is not None)


def _begins_locally(touch: Touch) -> bool:
    """Whether the value of a path begins with such a folder, or with what a variable says."""
    if any(touch.parts[: len(folder)] == folder for folder in filesystem.NODE_FOLDERS):
        return True
    first = touch.parts[0]
    made = structures().get(first, ()) if isinstance(first, int) else ()
    if made[:1] == ("environ",):
        return made[1] in filesystem.NODE_VARIABLES
    return bool(made) and made[0] in filesystem.NODE_CALLS


def _written(call: CallEvent) -> ast.expr | None:
    """The expression of the path."""
    if call.method in filesystem.OF_OBJECTS and not call.path:
        return call.node.args[0] if call.node.args else None
    return paths.path_of(call)[1]


def _names_local(node: ast.AST) -> bool:
    """Whether it is such a folder as a text, the name of such a variable, or a call that gives such a folder."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        parts = ("/", *(name for name in node.value.split("/") if name)) if node.value.startswith("/") else ()
        return node.value in filesystem.NODE_VARIABLES or any(
            parts[: len(folder)] == folder for folder in filesystem.NODE_FOLDERS
        )
    called = last_name(node.func) if isinstance(node, ast.Call) else ""
    return bool(called) and any(path.endswith(f".{called}") for path in filesystem.NODE_CALLS)
