"""The commands that Python code puts together, as texts or as lists of words, with the constants in them. Pure."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Iterator, Sequence
from functools import cached_property

from ddpdoctor.lint.deferred.launch_scripts import LAUNCHED
from ddpdoctor.model.late_pattern import late_pattern
from ddpdoctor.program.nodes import last_name, walk

#: most forms of one command: beyond that, what has several is not known
MOST = 16
#: stands for what is not known
_UNKNOWN = "."
#: a command that may start a program
_STARTS = late_pattern(r"\bpython[\d.]*\s")
#: functions that make a text of a value, or leave it
_PLAIN = frozenset({"str", "int"})

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class PythonCommands:
    """What is in one module; a name stands for all that the module gives it anywhere."""

    def __init__(self, tree: ast.Module) -> None:
        """`tree`: the module."""
        self._nodes = walk(tree)

    def found(self) -> Iterator[tuple[int, str]]:
        """(line, command) of each, several of one that has several forms."""
        inside = set[ast.AST]()
        for node in self._nodes:
            if node in inside or not isinstance(node, (ast.List, ast.Tuple, ast.BinOp, ast.JoinedStr, ast.Constant)):
                continue
            commands = [form for form in self._command(node) if _may_start(form)]
            if commands:
                inside.update(walk(node))
                yield from ((node.lineno, command) for command in commands)

    def only_value(self, name: str) -> str | None:
        """The one constant that a name is given, None if there is another or what it is given is not known."""
        values = self._values(name, frozenset())
        return values[0] if len(values) == 1 and values[0] != _UNKNOWN else None

    def _command(self, node: ast.expr) -> Sequence[str]:
        if isinstance(node, (ast.List, ast.Tuple)):
            return _together([self._forms(word, frozenset()) for word in node.elts], " ")
        return self._forms(node, frozenset())

    def _forms(self, node: ast.AST, seen: frozenset[str]) -> Sequence[str]:
        """What an expression may be as a text."""
        if isinstance(node, ast.Constant):
            return [str(node.value) if isinstance(node.value, (str, int)) else _UNKNOWN]
        if isinstance(node, ast.Name):
            return self._values(node.id, seen)
        if isinstance(node, ast.FormattedValue):
            return self._forms(node.value, seen)
        if isinstance(node, ast.Call) and len(node.args) == 1 and last_name(node.func) in _PLAIN:
            return self._forms(node.args[0], seen)
        if isinstance(node, ast.JoinedStr):
            return _together([self._forms(part, seen) for part in node.values], "")
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return _together([self._forms(node.left, seen), self._forms(node.right, seen)], "")
        return [_PYTHON if isinstance(node, ast.Attribute) and node.attr == "executable" else _UNKNOWN]

    def _values(self, name: str, seen: frozenset[str]) -> Sequence[str]:
        """What a name may be as a text."""
        if name in seen or name not in self._given:
            return [_UNKNOWN]
        seen |= {name}
        # a function that hands on its parameter under the same name says nothing new
        given = (value for value in self._given[name] if not (isinstance(value, ast.Name) and value.id in seen))
        forms = list(dict.fromkeys(form for value in given for form in self._forms(value, seen)))
        return forms if 0 < len(forms) <= MOST and _UNKNOWN not in forms else [_UNKNOWN]

    @cached_property
    def _given(self) -> dict[str, list[ast.AST]]:
        """What each name is given: by assignments, as a default, and in calls."""
        given: dict[str, list[ast.AST]] = {}
        for name, value in itertools.chain(self._assigned(), self._defaults(), self._passed()):
            given.setdefault(name, []).append(value)
        return given

    def _assigned(self) -> Iterator[tuple[str, ast.AST]]:
        plain = set[ast.AST]()
        for node in self._nodes:
            if isinstance(node, ast.Assign):
                named = [target for target in node.targets if isinstance(target, ast.Name)]
                plain.update(named)
                yield from ((target.id, node.value) for target in named)
        # what else stores a name may give it anything
        stored = (node for node in self._nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load))
        yield from ((node.id, _ANYTHING) for node in stored if node not in plain)

    @cached_property
    def _functions(self) -> dict[str, list[str]]:
        """The parameters of each function, in their order."""
        functions = (node for node in self._nodes if isinstance(node, _FUNCTIONS))
        return {node.name: [arg.arg for arg in (*node.args.posonlyargs, *node.args.args)] for node in functions}

    def _defaults(self) -> Iterator[tuple[str, ast.AST]]:
        for node in self._nodes:
            if isinstance(node, ast.arguments):
                places = [*node.posonlyargs, *node.args]
                with_default = zip(reversed(places), reversed(node.defaults), strict=False)
                only_named = zip(node.kwonlyargs, node.kw_defaults, strict=False)
                yield from ((arg.arg, value) for arg, value in (*with_default, *only_named) if value is not None)
                yield from ((arg.arg, _ANYTHING) for arg in (node.vararg, node.kwarg) if arg is not None)

    def _passed(self) -> Iterator[tuple[str, ast.AST]]:
        for node in self._nodes:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in self._functions:
                parameters = self._functions[node.func.id]
                yield from zip(parameters, node.args, strict=False)
                yield from ((keyword.arg, keyword.value) for keyword in node.keywords if keyword.arg is not None)


#: what sys.executable is
_PYTHON = "python"
_ANYTHING = ast.Constant(None)


def _together(parts: Sequence[Sequence[str]], between: str) -> Sequence[str]:
    """Every form of some parts, one after the other; what has several forms is not known where these are too many."""
    if math.prod(map(len, parts)) > MOST:
        parts = [part if len(part) == 1 else [_UNKNOWN] for part in parts]
    return [between.join(words) for words in itertools.product(*parts)]


def _may_start(command: str) -> bool:
    return LAUNCHED.search(command.encode(errors="replace")) is not None or _STARTS.search(command) is not None
