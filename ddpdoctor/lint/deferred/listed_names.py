"""Whether a repository gives a function one of the names for which alone it fetches a file. Impure: reads files.

`if name in _MODELS: download(...) elif os.path.isfile(name): ...`: who passes the path of a file has nothing fetched.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from ddpdoctor.lint.deferred.callers import passed
from ddpdoctor.lint.deferred.confirmation import Confirmation, ParsedPlace, parsed, path_of, places_of
from ddpdoctor.lint.deferred.needed_settings import setting
from ddpdoctor.lint.deferred.repository import Repository
from ddpdoctor.lint.deferred.shown_runs import runs_of, values_in
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.enclosing import conditions_met, innermost_function
from ddpdoctor.program.modules import FunctionNode
from ddpdoctor.program.nodes import last_name, walk

#: calls within one file that are followed back from the line that fetches
_DEEPEST = 3


class _Listed(NamedTuple):
    """A function that comes to a line only if a parameter is one of some names."""

    function: FunctionNode
    parameter: str
    names: frozenset[str]


def given_none_listed(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether what is passed in the runs of several ranks that the repository shows is none of the names that have the
    file fetched."""
    if finding.code != "DD124" or finding.severity is Severity.HINT:
        return None
    path = path_of(finding)
    places = list(parsed(places_of(finding)))
    here = next((place.tree for place in places if place.file == path), None)
    calls = [node for node in walk(here) if isinstance(node, ast.Call)] if here is not None else []
    for call in (call for call in calls if call.lineno == finding.line):
        for listed in (one for place in places for one in _listed(place, last_name(call.func))):
            given = passed(call, listed.function, listed.parameter)
            asked = setting(given) if given is not None else ""
            values = _values(repository, path, asked) if asked else None
            if values is not None and values.isdisjoint(listed.names):
                others = " or ".join(sorted(map(repr, values)))
                said = f"{asked} is {others} where the repository starts several ranks of it"
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
        for call in _calls(tree).get(function.name, ()):
            yield from _ways(tree, call.lineno, called, depth - 1)


@lru_cache(maxsize=32)  # as many as there are trees that are kept
def _calls(tree: ast.Module) -> Mapping[str, Sequence[ast.Call]]:
    """The calls in a file by the last names of what is called."""
    found: dict[str, list[ast.Call]] = {}
    for node in walk(tree):
        if isinstance(node, ast.Call):
            found.setdefault(last_name(node.func), []).append(node)
    return found


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


def _values(repository: Repository, path: str, asked: str) -> frozenset[object] | None:
    """What a setting is in the runs of several ranks that the repository shows; None if something else may be given."""
    held = [values_in(repository, run, asked) for run in runs_of(repository, path)]
    known = [values for values in held if values is not None]
    return frozenset[object]().union(*known) if known and len(known) == len(held) else None
