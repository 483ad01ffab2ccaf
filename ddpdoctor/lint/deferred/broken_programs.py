"""Where a program ends in an error whatever it is given: it reads an option that nothing declares or sets, a module
that it does not import, or a name that a module of the project does not have, calls a function with arguments that it
does not take, or takes its result apart into another number of names. Pure.

Only what surely runs counts: the statements of the file and of the functions that these call or start, also of the
project's other files, not those under a condition, or in a `try` that may go on.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set

from ddpdoctor.lint.deferred import refused_arguments, unpacked_results
from ddpdoctor.lint.deferred.called_functions import Defined, called_functions
from ddpdoctor.lint.deferred.forgotten_imports import forgotten_imports
from ddpdoctor.lint.deferred.missing_names import missing_names
from ddpdoctor.lint.knowledge import vocabulary
from ddpdoctor.model.late_pattern import late_pattern
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program import source
from ddpdoctor.program.enclosing import FUNCTIONS, LOOPS, is_of_program
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
    """A line of a file that ends the program, and why."""

    path: str
    line: int
    said: str


class _Part(NamedTuple):
    """What is evaluated at once, whatever else is so: the lines of its statement, and where that is."""

    file: _File
    first: int
    last: int
    in_loop: bool
    node: ast.AST

    @property
    def said(self) -> str:
        """Why it ends the program, "" if it may go on."""
        return self.file.told(self.node)


def break_before(tree: ast.Module, line: int, path: str, used: Mapping[str, bytes], *, reached: bool) -> Break | None:
    """The first line at which the program ends before its last loop does.

    Args:
        tree: The program's syntax tree.
        line: A line of it.
        path: Where it lies.
        used: The texts of the files that it uses by their paths, its own among them.
        reached: Whether what comes after the line is of no account.
    """
    options = _Options.of(tree, used.values())
    order = list(_Walk(used, options).through(tree.body, _File.of(tree, path, used, options), in_loop=False))
    last = max((index for index, one in enumerate(order) if one.in_loop), default=len(order) - 1)
    own = ((index, one) for index, one in enumerate(order) if one.file.path == path)
    here = (index for index, one in own if one.first <= line <= one.last)
    if reached:
        last = min(last, next(here, last + 1) - 1)
    found = ((one, one.said) for one in order[: last + 1])
    first = next(((one, said) for one, said in found if said), None)
    return Break(first[0].file.path, getattr(first[0].node, "lineno", first[0].first), first[1]) if first else None


class _File(NamedTuple):
    """What is known of a file of a program by which an expression in it may end the program."""

    path: str
    #: its own functions, by their names
    functions: Mapping[str, FunctionNode]
    #: None where it may read other options than are declared
    options: _Options | None
    forgotten: Set[str]
    called: Mapping[str, Defined]
    missing: Set[tuple[str, str]]

    @classmethod
    def of(cls, tree: ast.Module, path: str, used: Mapping[str, bytes], options: _Options | None) -> _File:
        functions = {node.name: node for node in tree.body if isinstance(node, FUNCTIONS)}
        called = called_functions(tree, path, used)
        return cls(path, functions, options, forgotten_imports(tree), called, missing_names(tree, path, used))

    def told(self, node: ast.AST) -> str:
        """Why a node ends the program where it is evaluated, "" if it may go on."""
        if isinstance(node, ast.Attribute):
            return self._lacking(node)
        if isinstance(node, ast.Name):
            return f"it does not import {node.id}" if node.id in self.forgotten else ""
        if isinstance(node, ast.Call):
            return refused_arguments.refusal(node, self.called)
        return unpacked_results.mismatch(node, self.called) if isinstance(node, ast.Assign) else ""

    def _lacking(self, node: ast.Attribute) -> str:
        if self.options is not None and self.options.lacks(node):
            return f"it has no option {node.attr}"
        name = node.value.id if isinstance(node.value, ast.Name) else ""
        return f"{name} has no {node.attr}" if (name, node.attr) in self.missing else ""


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


class _Walk:
    """On through the functions of a program, into each of them once."""

    def __init__(self, used: Mapping[str, bytes], options: _Options | None) -> None:
        self._used = used
        self._options = options
        self._files: dict[str, _File | None] = {}
        self._seen: set[tuple[str, str]] = set()

    def through(self, body: Iterable[ast.stmt], file: _File, *, in_loop: bool) -> Iterator[_Part]:
        """What a file evaluates, in order; a function where it is first called."""
        for statement in body:
            inside, heads = _inside(statement)
            loop = in_loop or isinstance(statement, LOOPS)
            for head in heads:
                yield from self._part(statement, head, file, in_loop=loop)
            yield from self.through(inside, file, in_loop=loop)

    def _part(self, statement: ast.stmt, node: ast.AST, file: _File, *, in_loop: bool) -> Iterator[_Part]:
        parts = list(_at_once(node))
        for name, call in _called(parts):
            yield from self._into(name, call, file, in_loop=in_loop)
        last = (statement.end_lineno or statement.lineno) if node is statement else statement.lineno
        yield from (_Part(file, statement.lineno, last, in_loop, part) for part in parts)

    def _into(self, name: str, call: ast.Call, file: _File, *, in_loop: bool) -> Iterator[_Part]:
        own, defined = file.functions.get(name), file.called.get(name)
        function = own if own is not None else defined.node if defined is not None else None
        home = file if own is not None or defined is None else self._file(defined.path)
        if home is None or not isinstance(function, FUNCTIONS) or (home.path, function.name) in self._seen:
            return
        if self._is_passed_what_it_names(function, call, home, file):
            self._seen.add((home.path, function.name))
            # what another file does after it may have left its function is not sure
            body = function.body if home is file else _without_a_way_out(function.body)
            yield from self.through(body, home, in_loop=in_loop)

    def _file(self, path: str) -> _File | None:
        if path not in self._files:
            tree = source.tree_of(self._used.get(path, b""))
            self._files[path] = _File.of(tree, path, self._used, self._options) if tree is not None else None
        return self._files[path]

    def _is_passed_what_it_names(self, function: FunctionNode, call: ast.Call, home: _File, file: _File) -> bool:
        """Whether a function is passed the program's options by the names under which it reads such; of another file,
        those that it does not are others."""
        held = self._options.held if self._options is not None else frozenset[str]()
        named = {node.arg for node in walk(function.args) if isinstance(node, ast.arg)}
        return named & held <= names_in(call) and (home is file or names_in(function) & held <= named)


def _without_a_way_out(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a function up to the first one that may leave it."""
    for statement in body:
        yield statement
        if any(isinstance(node, (ast.Return, ast.Raise)) for node in walk(statement)):
            return


def _inside(statement: ast.stmt) -> tuple[list[ast.stmt], list[ast.AST]]:
    """The statements inside one that run with it, and what it evaluates itself."""
    if isinstance(statement, (*FUNCTIONS, ast.ClassDef, ast.Try)):
        return [], []
    if isinstance(statement, ast.If):
        return (statement.body if is_of_program(statement) else []), [statement.test]
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
