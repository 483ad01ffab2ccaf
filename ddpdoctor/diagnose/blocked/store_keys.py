"""Who should set a key of the store that a rank waits for, as the source has it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ddpdoctor.diagnose.conditions import rank_condition
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.ranks import Rank
from ddpdoctor.model.stacks import Site
from ddpdoctor.program.program import Program

#: methods of torch's stores that give a key a value
_SETTERS = frozenset({"set", "multi_set", "add", "append", "compare_set"})
#: the probe keeps this many bytes of a key: a longer one may be cut off
LONGEST = 64


@dataclass(frozen=True, slots=True)
class Setter:
    """A line that sets such a key."""

    site: Site
    #: the condition on the rank under which it stands, "" for none
    condition: str
    #: the only rank whose number makes this very key of the line's pattern, None where it does not depend on one
    rank: Rank | None


def setters(facts: Facts, key: str) -> tuple[Setter, ...]:
    """Lines of the user's files that can set the key; empty where none is seen, or the key is not known whole."""
    if not key or len(key.encode()) >= LONGEST:
        return ()
    return tuple(
        Setter(site, condition.span.text.rstrip(":") if (condition := rank_condition(facts, site)) else "", rank)
        for file in facts.program
        if not facts.is_library(file)
        for site, pattern in _patterns(facts.program, file)
        if (match := re.fullmatch(pattern, key))
        for rank in [_rank(match, facts.evidence.world_size)]
    )


def _patterns(program: Program, file: str) -> Iterator[tuple[Site, str]]:
    module = program.module(file)
    for node in module.of(ast.Call) if module else ():
        if isinstance(node.func, ast.Attribute) and node.func.attr in _SETTERS:
            pattern = _pattern(node.args[0]) if node.args else ""
            if pattern and pattern != _ANYTHING:
                yield Site(file, node.lineno, ""), pattern


_ANYTHING = "(.+)"


def _pattern(key: ast.expr) -> str:
    """A regular expression for the texts that the expression can make; "" where it is no text to be seen."""
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
            return _ANYTHING.join(re.escape(part) for part in re.split(r"%[-+ #0-9.]*[a-zA-Z]", text))
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(text)), attr="format")):
            return _ANYTHING.join(re.escape(part) for part in re.split(r"\{[^}]*\}", text))
        case ast.List(elts=[first, *_]) | ast.Tuple(elts=[first, *_]):
            return _pattern(first)
    return ""


def _rank(match: re.Match[str], world_size: int) -> Rank | None:
    """A pattern with one gap, which this key fills with the number of a rank."""
    if len(match.groups()) != 1 or not match.group(1).isdigit():
        return None
    number = int(match.group(1))
    return Rank(number) if number < world_size else None
