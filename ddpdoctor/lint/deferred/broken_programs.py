"""Where a program ends in an error whatever it is given: it reads an option that nothing declares or sets, or a module
that it does not import, calls a function with arguments that it does not take, or takes its result apart into another
number of names. Pure.

Only what surely runs counts: the statements of the file and of the functions that these call or start, not those under
a condition, or in a `try` that may go on.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from ddpdoctor.lint.deferred import refused_arguments, unpacked_results
from ddpdoctor.lint.deferred.called_functions import called_functions
from ddpdoctor.lint.deferred.forgotten_imports import forgotten_imports
from ddpdoctor.lint.knowledge import vocabulary
from ddpdoctor.model.late_pattern import late_pattern
from ddpdoctor.program.enclosing import FUNCTIONS, LOOPS
from ddpdoctor.program.modules import FunctionNode
from ddpdoctor.program.nodes import children, last_name, names_in, walk
from ddpdoctor.program.options import declared_by, renamed_in

#: what gives options that are not written
_SETTINGS = rb"\b(?:" + "|".join(sorted(vocabulary.SETTINGS_NAMES)).encode() + rb")\b"
HIDDEN = late_pattern(
    rb"setattr\(\s*" + _SETTINGS + rb"|" + _SETTINGS + rb"\.__dict__|vars\(" + _SETTINGS + rb"\)(?:\.update|\[)"
    rb"|\bNamespace\(|\bparents\s*=|\bnamespace\s*=|add_argument\(\s*(?![\s\"'#])"
)
#: what a line sets, and the attributes in that
_SET = late_pattern(rb"^[ \t]*((?:[\w.]+\s*,\s*)*[\w.]+)\s*(?:[-+*/|&]?=(?!=)|:)", re.MULTILINE)
_ATTRIBUTES = late_pattern(rb"\.(\w+)")
#: classes of the parsers of command lines
_PARSERS = frozenset({"ArgumentParser"})
#: functions that run what is passed to them
_STARTERS = frozenset({"spawn", "start_processes", "elastic_launch", "Process", "run", "launch"})


class Break(NamedTuple):
    """A line that ends the program, and why."""

    line: int
    said: str


class _Part(NamedTuple):
    """What is evaluated at once, whatever else is so: the lines of its statement, and where that is."""

    first: int
    last: int
    in_loop: bool
    node: ast.AST


def break_before(tree: ast.Module, line: int, path: str, used: Mapping[str, bytes], *, reached: bool) -> Break | None:
    """The first line at which the program ends before its last loop does.

    Args:
        tree: The program's syntax tree.
        line: A line of it.
        path: Where it lies.
        used: The texts of the files that it uses by their paths, its own among them.
        reached: Whether what comes after the line is of no account.
    """
    ends = _Ends(_Options.of(tree, used.values()), forgotten_imports(tree), called_functions(tree, path, used))
    order = list(_surely_run(tree, ends.options.held if ends.options is not None else frozenset()))
    last = max((index for index, one in enumerate(order) if one.in_loop), default=len(order) - 1)
    here = (index for index, one in enumerate(order) if one.first <= line <= one.last)
    if reached:
        last = min(last, next(here, last + 1) - 1)
    found = ((one, ends.told(one.node)) for one in order[: last + 1])
    return next((Break(getattr(one.node, "lineno", one.first), said) for one, said in found if said), None)


class _Ends(NamedTuple):
    """What is known of a program by which an expression may end it."""

    options: _Options | None
    forgotten: Set[str]
    called: Mapping[str, FunctionNode | ast.ClassDef]

    def told(self, node: ast.AST) -> str:
        """Why a node ends the program where it is evaluated, "" if it may go on."""
        if isinstance(node, ast.Attribute):
            return f"it has no option {node.attr}" if self.options is not None and self.options.lacks(node) else ""
        if isinstance(node, ast.Name):
            return f"it does not import {node.id}" if node.id in self.forgotten else ""
        if isinstance(node, ast.Call):
            return refused_arguments.refusal(node, self.called)
        return unpacked_results.mismatch(node, self.called) if isinstance(node, ast.Assign) else ""


class _Options(NamedTuple):
    """The options of a program that parses them itself."""

    #: the variables that hold them
    held: Set[str]
    #: what they are called, with what a file that the program uses sets besides
    declared: Set[str]

    @classmethod
    def of(cls, tree: ast.Module, used: Collection[bytes]) -> _Options | None:
        """None if the program may have others than are written."""
        nodes = walk(tree)
        calls = [node for node in nodes if isinstance(node, ast.Call)]
        held = _given_by(nodes, _parses)
        held = vocabulary.SETTINGS_NAMES & (held | _given_by(nodes, _calls(_returning(nodes, held))))
        if not held or not _parses_by_itself(nodes, calls) or any(map(HIDDEN.search, used)):
            return None
        texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
        renamed = renamed_in(node for node in nodes if isinstance(node, ast.Assign))
        options = {option.dest for call in calls if (option := declared_by(call, renamed)) is not None}
        return cls(held, frozenset({*options, *texts, *_set_otherwise(calls, used)}))

    def lacks(self, node: ast.Attribute) -> bool:
        """Whether an attribute that is read is an option which is none of them."""
        is_option = isinstance(node.value, ast.Name) and node.value.id in self.held and not node.attr.startswith("_")
        return is_option and isinstance(node.ctx, ast.Load) and node.attr not in self.declared


def _set_otherwise(calls: Iterable[ast.Call], used: Iterable[bytes]) -> Iterator[str]:
    """What is set as a default, or as an attribute of anything in a file that the program uses."""
    for call in calls:
        if last_name(call.func) == "set_defaults":
            yield from (keyword.arg or "" for keyword in call.keywords)
    for text in used:
        yield from (name.decode() for line in _SET.findall(text) for name in _ATTRIBUTES.findall(line))


def _parses_by_itself(nodes: Sequence[ast.AST], calls: Sequence[ast.Call]) -> bool:
    """Whether the parsers are made here, and nobody gets one who may declare options, too."""
    parsers = {last_name(call.func.value) for call in calls if isinstance(call.func, ast.Attribute) and _parses(call)}
    passed = {last_name(one) for call in calls for one in (*call.args, *(keyword.value for keyword in call.keywords))}
    return parsers <= _given_by(nodes, _calls(_PARSERS)) and parsers.isdisjoint(passed)


def _given_by(nodes: Iterable[ast.AST], gives: Callable[[ast.expr], bool]) -> Set[str]:
    """The variables that hold what such calls gave and nothing else; parameters may have the names."""
    targets = {
        target for node in nodes if isinstance(node, ast.Assign) and gives(node.value) for target in node.targets
    }
    given: dict[bool, set[str]] = {True: set(), False: set()}
    for node in nodes:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            given[node in targets].add(node.id)
    return given[True] - given[False]


def _returning(nodes: Iterable[ast.AST], held: Set[str]) -> Set[str]:
    """The functions of a file that return what a parser gave, and nothing else."""
    found = set()
    for function in (node for node in nodes if isinstance(node, FUNCTIONS)):
        returned = [node.value for node in walk(function) if isinstance(node, ast.Return) and node.value is not None]
        if returned and all(last_name(one) in held or _parses(one) for one in returned):
            found.add(function.name)
    return found


def _calls(functions: Set[str]) -> Callable[[ast.expr], bool]:
    return lambda node: isinstance(node, ast.Call) and last_name(node.func) in functions


def _parses(node: ast.expr) -> bool:
    """Whether it calls a parser's method; a function of such a name may be of another file."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in vocabulary.PARSING


def _surely_run(tree: ast.Module, held: Set[str]) -> Iterator[_Part]:
    """What a program evaluates, in order; a function where it is first called, and is passed the variables `held` if it
    calls parameters so."""
    functions = {node.name: node for node in tree.body if isinstance(node, FUNCTIONS)}
    return _Walk(functions, held).through(tree.body, in_loop=False)


class _Walk:
    """On through the functions of a file, into each of them once."""

    def __init__(self, functions: Mapping[str, FunctionNode], held: Set[str]) -> None:
        self._functions = functions
        self._held = held
        self._seen: set[str] = set()

    def through(self, body: Iterable[ast.stmt], *, in_loop: bool) -> Iterator[_Part]:
        for statement in body:
            inside, heads = _inside(statement)
            loop = in_loop or isinstance(statement, LOOPS)
            for head in heads:
                yield from self._part(statement, head, in_loop=loop)
            yield from self.through(inside, in_loop=loop)

    def _part(self, statement: ast.stmt, node: ast.AST, *, in_loop: bool) -> Iterator[_Part]:
        parts = list(_at_once(node))
        for name, call in _called(parts):
            own = self._functions.get(name)
            if own is not None and name not in self._seen and self._is_passed_what_it_names(own, call):
                self._seen.add(name)
                yield from self.through(own.body, in_loop=in_loop)
        last = (statement.end_lineno or statement.lineno) if node is statement else statement.lineno
        yield from (_Part(statement.lineno, last, in_loop, part) for part in parts)

    def _is_passed_what_it_names(self, function: FunctionNode, call: ast.Call) -> bool:
        given = names_in(call)
        named = {node.arg for node in walk(function.args) if isinstance(node, ast.arg)}
        return named & self._held <= given


def _inside(statement: ast.stmt) -> tuple[list[ast.stmt], list[ast.AST]]:
    """The statements inside one that run with it, and what it evaluates itself."""
    if isinstance(statement, (*FUNCTIONS, ast.ClassDef, ast.Try)):
        return [], []
    if isinstance(statement, ast.If):
        is_main = isinstance(statement.test, ast.Compare) and last_name(statement.test.left) == "__name__"
        return (statement.body if is_main else []), [statement.test]
    if isinstance(statement, (*LOOPS, ast.With, ast.AsyncWith)):
        return statement.body, [child for child in children(statement) if not isinstance(child, ast.stmt)]
    return [], [statement]


#: what is evaluated later, or only where something else is so
_LATER = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.AnnAssign, ast.Delete, ast.Assert)


def _at_once(node: ast.AST) -> Iterator[ast.AST]:
    """A node and its parts that are evaluated with it whatever their values are."""
    if isinstance(node, _LATER):
        return
    yield node
    if isinstance(node, (ast.BoolOp, ast.IfExp)):
        yield from _at_once(node.values[0] if isinstance(node, ast.BoolOp) else node.test)
        return
    for child in children(node):
        if not isinstance(child, ast.stmt):
            yield from _at_once(child)


def _called(parts: Iterable[ast.AST]) -> Iterator[tuple[str, ast.Call]]:
    """The functions that are called by name, or that others are to start, and the calls."""
    for call in (part for part in parts if isinstance(part, ast.Call)):
        if isinstance(call.func, ast.Name):
            yield call.func.id, call
        if last_name(call.func) in _STARTERS:
            given = (*call.args, *(keyword.value for keyword in call.keywords))
            yield from ((one.id, call) for one in given if isinstance(one, ast.Name))
