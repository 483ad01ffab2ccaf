"""Whether a repository gives a function one of the names for which alone it fetches a file. Impure: reads files.

`if name in _MODELS: download(...) elif os.path.isfile(name): ...`: who passes the path of a file has nothing fetched.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from ddpdoctor.lint.deferred import given_options
from ddpdoctor.lint.deferred.confirmation import Confirmation, ParsedPlace, parsed, path_of, places_of
from ddpdoctor.lint.deferred.needed_settings import setting
from ddpdoctor.lint.deferred.repository import Repository
from ddpdoctor.lint.files import read_file
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.model.late_pattern import late_pattern
from ddpdoctor.program.enclosing import conditions_met, innermost_function
from ddpdoctor.program.modules import FunctionNode
from ddpdoctor.program.nodes import last_name, walk

#: calls within one file that are followed back from the line that fetches
_DEEPEST = 3
#: a value in which nothing is put in place
_PLAIN = late_pattern(r"[\w./~+-]+")


class _Listed(NamedTuple):
    """A function that comes to a line only if a parameter is one of some names."""

    function: FunctionNode
    parameter: str
    names: frozenset[str]


def given_none_listed(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether all that the commands, defaults and files of settings give is none of the names that have the file
    fetched."""
    if finding.code != "DD124" or finding.severity is Severity.HINT:
        return None
    path = path_of(finding)
    places = list(parsed(places_of(finding)))
    here = next((place.tree for place in places if place.file == path), None)
    calls = [node for node in walk(here) if isinstance(node, ast.Call)] if here is not None else []
    for call in (call for call in calls if call.lineno == finding.line):
        for listed in (one for place in places for one in _listed(place, last_name(call.func))):
            passed = _passed(call, listed)
            asked = setting(passed) if passed is not None else ""
            values = _values(repository, path, asked) if asked else None
            if values is not None and values.isdisjoint(listed.names):
                others = f", but {', '.join(sorted(values))}" if values else ""
                said = f"{asked} is none of the names that have it fetched{others}"
                condition = f"if {asked} is {min(listed.names)} or another such name, "
                return Confirmation(said, Severity.HINT, condition=condition)
    return None


def _listed(place: ParsedPlace, called: str) -> list[_Listed]:
    """The function of a file that is called, if it comes to a line of it only with names of a list."""
    ways = list(_ways(place.tree, place.line, called, _DEEPEST))
    known = [way for way in ways if way is not None]
    return known if len(known) == len(ways) else []


def _ways(tree: ast.Module, line: int, called: str, depth: int) -> Iterator[_Listed | None]:
    """The ways from a function to a line; None for one that asks for no name."""
    function = innermost_function(tree, line)
    if function is None:
        return
    if function.name == called:
        yield next(_asked(tree, function, line), None)
    elif depth:
        for call in (node for node in walk(tree) if isinstance(node, ast.Call)):
            if last_name(call.func) == function.name:
                yield from _ways(tree, call.lineno, called, depth - 1)


def _asked(tree: ast.Module, function: FunctionNode, line: int) -> Iterator[_Listed]:
    parameters = {node.arg for node in walk(function.args) if isinstance(node, ast.arg)}
    for test in conditions_met(tree, line):
        if not (isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and isinstance(test.ops[0], ast.In)):
            continue
        names = _texts(tree, test.comparators[0])
        if names and test.left.id in parameters and len(test.ops) == 1:
            yield _Listed(function, test.left.id, names)


def _texts(tree: ast.Module, node: ast.expr) -> frozenset[str]:
    """The names in a list or the keys of a table, also in one at the top of the file; empty if they are not known."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "keys":
        return _texts(tree, node.func.value)
    if isinstance(node, ast.Name):
        given = [one for one in tree.body if isinstance(one, ast.Assign) and node.id in map(last_name, one.targets)]
        inner = given[0].value if len(given) == 1 else None
        return _texts(tree, inner) if isinstance(inner, (ast.Dict, ast.List, ast.Set, ast.Tuple)) else frozenset()
    held = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
    texts = {one.value for one in held if isinstance(one, ast.Constant) and isinstance(one.value, str)}
    return frozenset(texts) if len(texts) == len(held) else frozenset()


def _passed(call: ast.Call, listed: _Listed) -> ast.expr | None:
    """What a call passes as the parameter."""
    names = [node.arg for node in (*listed.function.args.posonlyargs, *listed.function.args.args)]
    given: dict[str | None, ast.expr] = dict(zip(names, call.args, strict=False))
    given.update((keyword.arg, keyword.value) for keyword in call.keywords)
    return given.get(listed.parameter)


def _values(repository: Repository, path: str, asked: str) -> frozenset[str] | None:
    """The texts that a setting is in the runs which the repository shows: what the commands give an option, its default
    where one does not, or what the files of settings have; None if something else may be given."""
    used = (repository.used_by(path) or {path: read_file(path) or b""}).values()
    declared = given_options.given_in_all(used).get(asked, ())
    if not declared:
        return repository.configurations.texts_of(asked)
    names = frozenset({asked}).union(*(one.names for one in declared))
    commands = repository.launches.shown_commands(path)
    given = {given_options.value_in(command, names) for command in commands}
    left_out = given_options.default_values(declared) if "" in given else frozenset[object]()
    seen = commands and left_out is not None and not any(map(given_options.hands_on_a_file, commands))
    values = (given | {value for value in left_out or () if isinstance(value, str)}) - {""}
    return frozenset(values) if seen and all(map(_PLAIN.fullmatch, values)) else None
