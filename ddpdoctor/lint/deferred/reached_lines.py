"""Whether the runs of several ranks that a repository shows come to a line. Impure: reads files.

`elif data == "digits": download()`, where `data` is a parameter, a variable or a setting, and each command that starts
several ranks asks for other data.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from ddpdoctor.lint.deferred.callers import defaults, passed
from ddpdoctor.lint.deferred.condition_results import asked_by, name_of, result
from ddpdoctor.lint.deferred.confirmation import ParsedPlace, parsed
from ddpdoctor.lint.deferred.needed_settings import setting
from ddpdoctor.lint.deferred.parts_given import parts_given
from ddpdoctor.lint.deferred.repository import Repository
from ddpdoctor.lint.deferred.shown_runs import Run, mentions_one, values_in
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program import source
from ddpdoctor.program.enclosing import conditions_met, functions_around, innermost_function, nodes_around
from ddpdoctor.program.modules import FunctionNode
from ddpdoctor.program.nodes import last_name, walk

#: callers of callers, and variables made of others, that are followed
_DEEPEST = 4
#: methods of a text that give much the same one
_ALIKE = frozenset({"lower", "upper", "strip"})


class Missed(NamedTuple):
    """Why a line is never come to."""

    #: the condition that does not hold, and what of it is asked about
    test: ast.expr
    asked: str
    values: frozenset[object]


class _Known(NamedTuple):
    """What an expression of a condition is in the runs."""

    asked: ast.expr
    values: frozenset[object]


class _Held(NamedTuple):
    """What an expression may be in the runs."""

    values: frozenset[object]
    #: whether files of settings give it by a name that several of their settings may have
    by_name: bool = False


class ReachedLines:
    """The lines to which some runs come."""

    def __init__(self, repository: Repository, runs: list[Run]) -> None:
        self._repository = repository
        self._runs = runs
        #: the files that they run
        self._files = frozenset(path for run in runs for path in run.texts)
        self._settings: dict[str, _Held | None] = {}
        self._known: dict[tuple[str, int], Missed | None] = {}

    def missed(self, file: str, line: int) -> Missed | None:
        """What keeps all of the runs from a line, None if they may come there."""
        place = next(parsed([(file, line)]), None) if self._runs else None
        return self._missed(place, _DEEPEST) if place is not None else None

    def _missed(self, place: ParsedPlace, depth: int) -> Missed | None:
        key = (place.file, place.line)
        if key not in self._known:
            self._known[key] = None  # of a function that calls itself, nothing is known
            found = [self._fails(test, place) for test in conditions_met(place.tree, place.line)]
            # what is asked for says more than what has been asked for before
            here = sorted(filter(None, found), key=lambda one: isinstance(one.test, ast.UnaryOp))
            self._known[key] = here[0] if here else self._never_called(place, depth)
        return self._known[key]

    def _never_called(self, place: ParsedPlace, depth: int) -> Missed | None:
        """What keeps the runs from all calls of the function around a line."""
        missed = [self._missed(call, depth - 1) for call, _ in self._calls(place)] if depth else []
        return missed[0] if missed and all(missed) else None

    def _calls(self, place: ParsedPlace) -> list[tuple[ParsedPlace, ast.Call]]:
        """The calls of the function around a line in what the runs are of."""
        calls = self._repository.callers.calls_of(place.file, place.line)
        return [(one, call) for path, call in calls if path in self._files for one in parsed([(path, call.lineno)])]

    def _fails(self, test: ast.expr, place: ParsedPlace) -> Missed | None:
        """Why a condition holds in none of the runs."""
        known = self._held(test, place, True)
        if known is None:
            return None
        return Missed(test, name_of(known.asked), known.values)

    def _held(self, test: ast.expr, place: ParsedPlace, wanted: bool, depth: int = _DEEPEST) -> _Known | None:
        """What shows that a condition is never true, or never false where that is `wanted`; None if it may be."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self._held(test.operand, place, not wanted, depth)
        if isinstance(test, ast.BoolOp):
            parts = [self._held(part, place, wanted, depth) for part in test.values]
            needs_all = isinstance(test.op, ast.And) is wanted
            enough = any(parts) if needs_all else all(parts)
            return next(filter(None, parts), None) if enough else None
        kept = _kept(test, place) if isinstance(test, ast.Name) and depth else None
        if kept is not None:
            return self._held(kept, place._replace(line=kept.lineno), wanted, depth - 1)
        asked = asked_by(test)
        held = self._values(asked, place, _DEEPEST) if asked is not None else None
        if asked is None or held is None or not held.values:
            return None
        # who asks for one of its values means this setting
        if held.by_name and not mentions_one(place.tree, held.values):
            return None
        other = self._other(test, place)
        results = [result(test, value, other) for value in held.values]
        return None if any(one in (wanted, None) for one in results) else _Known(asked, held.values)

    def _other(self, test: ast.expr, place: ParsedPlace) -> object:
        """What something is compared with by the name that a class has for it; None if it is no such name."""
        other = test.comparators[0] if isinstance(test, ast.Compare) else None
        held = self._of_class(other, place) if other is not None else None
        return next(iter(held.values)) if held is not None else None

    def _values(self, node: ast.expr, place: ParsedPlace, depth: int) -> _Held | None:
        """What an expression may be in the runs."""
        if isinstance(node, ast.Constant):
            return _Held(frozenset({node.value}))
        if isinstance(node, ast.IfExp):
            return self._of_all((node.body, node.orelse), place, depth)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ALIKE:
            return _changed(self._values(node.func.value, place, depth), node.func.attr)
        if isinstance(node, ast.Name):
            return self._of_name(node.id, place, depth) if depth else None
        if isinstance(node, (ast.Tuple, ast.List)):
            return self._of_all(node.elts, place, depth)
        name = setting(node)
        return self._of_setting(name) if name else self._of_class(node, place)

    def _of_class(self, node: ast.expr, place: ParsedPlace) -> _Held | None:
        """What a class has by a name, of itself or of an object that is made of it nearby: `loaders.digits`."""
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
            return None
        owners = self._classes_of(node.value.id, place)
        given = [value for owner in owners for value in _given_in(owner.body, node.attr)]
        constants = frozenset(value.value for value in given if isinstance(value, ast.Constant))
        return _Held(constants) if len(owners) == len(given) == 1 and constants else None

    def _classes_of(self, name: str, place: ParsedPlace) -> list[ast.ClassDef]:
        """The class of an object, or of that name, as far as the runs have one of its name."""
        around = [node for node in nodes_around(place.tree, place.line) if isinstance(node, ast.ClassDef)]
        if name in ("self", "cls"):
            return around[-1:]
        function = innermost_function(place.tree, place.line)
        made = [*_given(function if function is not None else place.tree, name)]
        called = last_name(made[0].func) if len(made) == 1 and isinstance(made[0], ast.Call) else name
        trees = (tree for text in self._with(called) if (tree := source.tree_of(text)) is not None)
        return [node for tree in trees for node in walk(tree) if isinstance(node, ast.ClassDef) and node.name == called]

    def _with(self, word: str) -> list[bytes]:
        """What the runs are of that has a word."""
        texts = {path: text for run in self._runs for path, text in run.texts.items()}
        return [text for text in texts.values() if word.encode() in text]

    def _of_all(self, nodes: Iterable[ast.expr], place: ParsedPlace, depth: int) -> _Held | None:
        return _together([self._values(node, place, depth) for node in nodes])

    def _of_setting(self, name: str) -> _Held | None:
        if name not in self._settings:
            by_name = not self._repository.configurations.is_option(name)
            values = (values_in(self._repository, run, name) for run in self._runs)
            held = _together([_Held(one, by_name) if one is not None else None for one in values])
            # what an option leaves off, a file may still turn on
            left_off = held is not None and not any(held.values)
            self._settings[name] = None if left_off and self._repository.configurations.turn_on(name) else held
        return self._settings[name]

    def _of_name(self, name: str, place: ParsedPlace, depth: int) -> _Held | None:
        function = innermost_function(place.tree, place.line)
        if function is not None and name in _parameters(function) and not _stored(function, name):
            return self._of_parameter(function, name, place, depth)
        given = _all_given(place, name)
        return _together([self._values(value, place._replace(line=value.lineno), depth - 1) for value in given])

    def _of_parameter(self, function: FunctionNode, name: str, place: ParsedPlace, depth: int) -> _Held | None:
        """What the calls pass as a parameter to which the runs come."""
        values: list[_Held | None] = []
        for at, call in self._calls(place):
            if self._missed(at, depth - 1) is None:
                value = passed(call, function, name)
                unpacked = value is None and not call.args and name not in {one.arg for one in call.keywords}
                known = self._values(value, at, depth - 1) if value is not None else None
                values.append(self._of_unpacked(function, name, at, depth) if unpacked else known)
        return _together(values)

    def _of_unpacked(self, function: FunctionNode, name: str, at: ParsedPlace, depth: int) -> _Held | None:
        """What a parameter is where a call passes all parameters as one object: its default, or what the runs have the
        part of that name hold somewhere."""
        default = defaults(function).get(name)
        if default is None or self._repository.sets(name):
            return None
        texts = {path: text for run in self._runs for path, text in run.texts.items() if name.encode() in text}
        values = [self._values(default, at, depth - 1)]
        for place in parsed((path, 1) for path in texts):
            parts = parts_given(place.tree, name)
            if parts is None:
                return None
            places = ((place._replace(line=value.lineno), value) for value in parts)
            reached = ((one, value) for one, value in places if self._missed(one, depth - 1) is None)
            values += [self._values(value, one, depth - 1) for one, value in reached]
        return _together(values)


def _together(held: Sequence[_Held | None]) -> _Held | None:
    """What one of several may be; None if one of them is not known, or there is none."""
    known = [one for one in held if one is not None]
    values = frozenset[object]().union(*(one.values for one in known))
    return _Held(values, any(one.by_name for one in known)) if known and len(known) == len(held) else None


def _parameters(function: FunctionNode) -> set[str]:
    return {node.arg for node in walk(function.args) if isinstance(node, ast.arg)}


def _stored(scope: ast.AST, name: str) -> list[ast.Name]:
    names = (node for node in walk(scope) if isinstance(node, ast.Name) and node.id == name)
    return [node for node in names if not isinstance(node.ctx, ast.Load)]


def _all_given(place: ParsedPlace, name: str) -> list[ast.expr]:
    """What a variable is given that is read at a place: one of a function around it, or of the file; none if something
    else may be in it."""
    for function in reversed(functions_around(place.tree, place.line)):
        if _stored(function, name) or name in _parameters(function):
            given = [*_given(function, name)] if name not in _parameters(function) else []
            return given if len(given) == len(_stored(function, name)) else []
    given = [*_given(place.tree, name)]
    outside = all(innermost_function(place.tree, value.lineno) is None for value in given)
    return given if outside and len(given) == len(_stored(place.tree, name)) else []


#: what makes one condition of others
_CONDITIONS = (ast.BoolOp, ast.Compare, ast.UnaryOp)


def _kept(test: ast.Name, place: ParsedPlace) -> ast.expr | None:
    """The condition that a variable keeps: `unlabelled = args.more and args.names`."""
    given = _all_given(place, test.id)
    return given[0] if len(given) == 1 and isinstance(given[0], _CONDITIONS) else None


def _given(scope: ast.AST, name: str) -> Iterator[ast.expr]:
    """What a variable is given by assignments of it alone, or what is iterated over by it."""
    for node in walk(scope):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and _is(node.targets[0], name):
            yield node.value
        elif isinstance(node, ast.For) and _is(node.target, name) and not isinstance(node.iter, ast.Constant):
            yield node.iter


def _given_in(body: list[ast.stmt], name: str) -> list[ast.expr]:
    """What the statements of a class give a name."""
    assigned = (one for one in body if isinstance(one, ast.Assign))
    return [one.value for one in assigned if any(_is(target, name) for target in one.targets)]


def _is(target: ast.expr, name: str) -> bool:
    return isinstance(target, ast.Name) and target.id == name


def _changed(held: _Held | None, method: str) -> _Held | None:
    """What a method makes of texts."""
    texts = [value for value in held.values if isinstance(value, str)] if held is not None else []
    if held is None or len(texts) < len(held.values):
        return None
    return held._replace(values=frozenset(getattr(text, method)() for text in texts))
