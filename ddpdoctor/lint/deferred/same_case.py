"""Where a program ends in an error in the one case in which something else is wrong: under the same conditions on its
settings, it reads an option before that nothing declares or sets. Pure.

    elif "replay" in args.baseline:          # before the training, in a file
        buffer = Buffer(args.replay_size)    # no option of this name
    ...
    elif "replay" in args.baseline:          # after it, in another one
        ...
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Set

from ddpdoctor.lint.facts import blocks
from ddpdoctor.lint.knowledge import vocabulary
from ddpdoctor.model.late_pattern import late_pattern
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program import source
from ddpdoctor.program.enclosing import FUNCTIONS, LOOPS, conditions_met, innermost_function
from ddpdoctor.program.modules import FunctionNode
from ddpdoctor.program.nodes import dotted, last_name, walk
from ddpdoctor.program.text import text_of

#: what is evaluated later or not whatever else is so
_LATER = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.BoolOp, ast.IfExp)
#: what makes the settings of a program out of its command line
PARSER = late_pattern(rb"\bArgumentParser\(")


class Read(NamedTuple):
    """A line that reads an option which there is not."""

    file: str
    line: int
    option: str


class _Function(NamedTuple):
    file: str
    node: FunctionNode


def read_before(
    file: str, tree: ast.Module, line: int, used: Mapping[str, bytes], lacks: Callable[[str], bool]
) -> Read | None:
    """What a program reads in vain before it comes to a line, wherever it comes there.

    Args:
        file: Where the line is.
        tree: The syntax tree of that file.
        line: The line.
        used: The texts of the files that the program uses, by their paths.
        lacks: Whether nothing declares or sets an option.
    """
    function = innermost_function(tree, line)
    if function is None or not is_by_settings(tree, line):
        return None
    met = _met(function, line)
    trees = {path: parsed for path, text in used.items() if (parsed := source.tree_of(text)) is not None}
    own = (node for node in _functions(trees.get(file)) if node.lineno == function.lineno)
    here = _Function(file, next(own, function))
    for path, parsed in trees.items():
        for node in _functions(parsed):
            read = _reads(_Function(path, node), met, lacks) if node is not here.node else None
            if read is not None and _always_before(trees, _Function(path, node), here):
                return read
    return None


def is_by_settings(tree: ast.Module, line: int) -> bool:
    """Whether a function comes to a line of it only under a condition on settings, of which alone this is about."""
    function = innermost_function(tree, line)
    return function is not None and any(map(_asks_settings, _met(function, line)))


def _functions(tree: ast.Module | None) -> list[FunctionNode]:
    return [node for node in walk(tree) if isinstance(node, FUNCTIONS)] if tree is not None else []


def _met(function: FunctionNode, line: int) -> frozenset[str]:
    """The conditions on which a function comes to a line; of an object's settings, as of those alone."""
    return frozenset(text_of(test).replace("self.", "") for test in conditions_met(function, line))


def _asks_settings(condition: str) -> bool:
    return any(f"{name}." in condition for name in vocabulary.SETTINGS_NAMES)


def _reads(function: _Function, met: Set[str], lacks: Callable[[str], bool]) -> Read | None:
    """The first option that a function surely reads under these conditions, and that there is not."""
    for node in _at_once(function.node.body):
        own = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and not node.attr.startswith("_")
        if not isinstance(node, ast.Attribute) or not own or last_name(node.value) not in vocabulary.SETTINGS_NAMES:
            continue
        asked = _met(function.node, node.lineno)
        if any(map(_asks_settings, asked)) and asked <= met and lacks(node.attr):
            return Read(function.file, node.lineno, node.attr)
    return None


def _at_once(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """What some statements evaluate, on whatever condition, but not later, in loops, or where an error is caught; up to
    where they may leave."""
    for node in body:
        if isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Try, *LOOPS, *_LATER)):
            continue
        yield node
        yield from _at_once(ast.iter_child_nodes(node))
        if isinstance(node, ast.stmt) and any(isinstance(one, (ast.Return, ast.Raise)) for one in walk(node)):
            return


def _always_before(trees: Mapping[str, ast.Module], first: _Function, second: _Function) -> bool:
    """Whether whoever calls one function has called another one before."""
    calling = {path: calls for path, tree in trees.items() if (calls := _calls(tree, path, second))}
    return bool(calling) and all(
        any(_is_before(trees[path], one, call) for one in _calls(trees[path], path, first))
        for path, calls in calling.items()
        for call in calls
    )


def _is_before(tree: ast.Module, one: ast.Call, other: ast.Call) -> bool:
    """Whether a call has been made, in the same function, whenever that comes to another one."""
    scope = innermost_function(tree, other.lineno)
    if scope is None or innermost_function(tree, one.lineno) is not scope:
        return False
    made = (one.lineno, one.end_lineno or one.lineno)
    passed = (node for node in blocks.passed(scope, other.lineno) if isinstance(node, (ast.Assign, ast.Expr)))
    return any(node.lineno <= made[0] and made[1] <= (node.end_lineno or 0) for node in passed)


def _calls(tree: ast.Module, path: str, function: _Function) -> list[ast.Call]:
    """The calls of a file that mean a function: by its name here, or with that of its file."""
    stem = posixpath.basename(function.file).removesuffix(".py")
    imported = {alias.asname or alias.name for node in walk(tree) if isinstance(node, ast.ImportFrom)
                for alias in node.names if (node.module or "").rpartition(".")[2] == stem}  # fmt: skip
    found = []
    for call in (node for node in walk(tree) if isinstance(node, ast.Call)):
        parts = dotted(call.func)
        by_name = len(parts) == 1 and (path == function.file or parts[0] in imported)
        if parts and parts[-1] == function.node.name and (by_name or parts[-2:-1] == [stem]):
            found.append(call)
    return found


def is_only_read(name: str, text: bytes) -> bool:
    """Whether a text has a name, if at all, only as an attribute that is read."""
    spelled = re.sub(rb"[-_]", b"[-_]", name.encode())
    word = re.compile(rb"(\.?)\b" + spelled + rb"\b(\s*(?:[-+*/|&]?=(?!=)|,[^()\n]*=(?!=)|:))?")
    return all(found[1] and not found[2] for found in word.finditer(text))
