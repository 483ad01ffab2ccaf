"""What a number is computed from, by the names of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.values import formulas, symbols
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.values import Value, symbol_key
from ddpdoctor.program.sites import SourceSite

#: calls in one another that are looked into
_DEPTH = 6
#: what something is counted of is not what it is computed from
_COUNTS = ("len",)
#: how the paths of functions begin that compute numbers of numbers
_RECKONING = ("math.", "builtins.", "numpy.")


def names(facts: ModuleFacts, value: Value) -> set[str]:
    """The names of the attributes, keys, parameters and functions that a number is computed from."""
    return set(_names(facts, symbols.structures(), value, 0))


def _names(facts: ModuleFacts, structures: Mapping[int, tuple[object, ...]], value: Value, depth: int) -> Iterator[str]:
    key = symbol_key(value)
    if key is None or depth > _DEPTH:
        return
    made = [value.object] if isinstance(value.object, Made) else []
    for inner in formulas.inside(structures, key, _COUNTS):
        structure = structures.get(inner, ())
        for part in structure:
            one = part[0] if isinstance(part, tuple) and len(part) == 1 else part
            if isinstance(one, str):
                yield one
        made += _calls(facts, structure)
    for one in made:
        yield one.path.rpartition(".")[2]
        for given in one.args if one.path.startswith(_RECKONING) else ():
            yield from _names(facts, structures, given, depth + 1)


def _calls(facts: ModuleFacts, structure: tuple[object, ...]) -> Iterator[Made]:
    """The call that an unknown is the result of."""
    if len(structure) == 2 and isinstance(structure[0], str) and isinstance(structure[1], SourceSite):
        for call in facts.named(structure[0]):
            if call.site == structure[1]:
                yield Made(call.path, call.site, call.args, call.keywords)
