"""Who should set a store key that a rank waits for, from the source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ddpdoctor.diagnose.conditions import lets_in_the_first_alone, rank_condition
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.ranks import Rank
from ddpdoctor.model.stacks import Site
from ddpdoctor.program import enclosing
from ddpdoctor.program.nodes import last_name
from ddpdoctor.program.program import Program

#: methods of torch's stores that set a key
_SETTERS = frozenset({"set", "multi_set", "add", "append", "compare_set"})
#: calls that are followed from the line outwards
_DEEPEST = 8
#: bytes of a key that the probe keeps: a longer key may be truncated
LONGEST = 64


@dataclass(frozen=True, slots=True)
class Setter:
    """A line that sets the key."""

    site: Site
    #: the condition on the rank around it, or around the only calls that lead to it, "" for none
    condition: str
    #: the only rank that it lets in, or whose number makes the line's pattern equal to this key; None if none is known
    rank: Rank | None


def setters(facts: Facts, key: str) -> tuple[Setter, ...]:
    """Lines of the user's files that can set the key; empty if none is found, or if the key is truncated."""
    if not key or len(key.encode()) >= LONGEST:
        return ()
    return tuple(
        _setter(facts, site, match)
        for file in facts.program
        if not facts.is_library(file)
        for site, pattern in _patterns(facts.program, file)
        if (match := re.fullmatch(pattern, key))
    )


def _setter(facts: Facts, site: Site, match: re.Match[str]) -> Setter:
    rank = _rank(match, facts.evidence.world_size)
    callers = _callers(facts, site)
    for depth, place in enumerate((site, *callers)):
        condition = rank_condition(facts, place, callers[depth:])
        if condition is not None:
            first = lets_in_the_first_alone(facts, place, callers[depth:])
            return Setter(site, condition.span.text.rstrip(":"), Rank(0) if first else rank)
    return Setter(site, "", rank)


def _callers(facts: Facts, site: Site) -> tuple[Site, ...]:
    """The lines through which alone the program comes to the function around this one, innermost first."""
    found: list[Site] = []
    while len(found) < _DEEPEST:
        function = enclosing.function_around(facts.program, found[-1] if found else site)
        calls = list(_calls(facts, function.name)) if function is not None else []
        if len(calls) != 1 or calls[0] in found:
            break
        found.append(calls[0])
    return tuple(found)


def _calls(facts: Facts, name: str) -> Iterator[Site]:
    """The lines that call something of this name, or name it for somebody else to call."""
    for file in facts.program:
        module = None if facts.is_library(file) else facts.program.module(file)
        for node in (*module.of(ast.Name), *module.of(ast.Attribute)) if module else ():
            if last_name(node) == name:
                yield Site(file, node.lineno, "")


def _patterns(program: Program, file: str) -> Iterator[tuple[Site, str]]:
    module = program.module(file)
    for node in module.of(ast.Call) if module else ():
        if isinstance(node.func, ast.Attribute) and node.func.attr in _SETTERS:
            pattern = _pattern(node.args[0]) if node.args else ""
            if pattern and pattern != _ANYTHING:
                yield Site(file, node.lineno, ""), pattern


_ANYTHING = "(.+)"


def _pattern(key: ast.expr) -> str:
    """A regular expression for the strings that the expression can give; "" if it is not a visible string."""
    match key:
        case ast.Constant(value=str(text)):
            return re.escape(text)
        case ast.JoinedStr(values=parts):
            return "".join(_pattern(part) for part in parts)
        case ast.FormattedValue():
            return _ANYTHING
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            sides = _pattern(left) or _ANYTHING, _pattern(right) or _ANYTHING
            return "" if sides == (_ANYTHING, _ANYTHING) else "".join(sides)
        case ast.BinOp(left=ast.Constant(value=str(text)), op=ast.Mod()):
            return _template(text, r"%[-+ #0-9.]*[a-zA-Z]")
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(text)), attr="format")):
            return _template(text, r"\{[^}]*\}")
        case ast.List(elts=[first, *_]) | ast.Tuple(elts=[first, *_]):
            return _pattern(first)
    return ""


def _template(text: str, placeholder: str) -> str:
    return _ANYTHING.join(re.escape(part) for part in re.split(placeholder, text))


def _rank(match: re.Match[str], world_size: int) -> Rank | None:
    """The rank number with which this key fills the single gap of the pattern."""
    if len(match.groups()) != 1 or not match.group(1).isdigit():
        return None
    number = int(match.group(1))
    return Rank(number) if number < world_size else None
