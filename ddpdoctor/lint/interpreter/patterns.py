"""Patterns of `match`: whether a value has one on each simulated rank, and the names that it gives."""

from __future__ import annotations

import ast

from ddpdoctor.lint.interpreter.assignments import assign
from ddpdoctor.lint.interpreter.conditions import compared
from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.interpreter.machine import Machine
from ddpdoctor.lint.values.truths import both
from ddpdoctor.lint.values.values import Value, const, unknown


def chosen(machine: Machine, frame: Frame, subject: Value, case: ast.match_case) -> Value:
    """Whether a case is the one for a value; its names are bound, as its guard needs them."""
    result = _has(machine, frame, subject, case.pattern)
    if case.guard is None:
        return result
    return both(result, machine.evaluate(frame, case.guard), conjunction=True)


def _has(machine: Machine, frame: Frame, subject: Value, pattern: ast.pattern) -> Value:
    match pattern:
        case ast.MatchValue(value=value):
            return compared("Eq", subject, machine.evaluate(frame, value))
        case ast.MatchSingleton(value=single):
            return compared("Is", subject, const(single))
        case ast.MatchOr(patterns=patterns):
            return _any(machine, frame, subject, patterns)
        case ast.MatchAs(pattern=inner, name=name):
            result = _has(machine, frame, subject, inner) if inner is not None else const(True)
            if name is not None:
                assign(machine, frame, ast.copy_location(ast.Name(name, ast.Store()), pattern), subject)
            return result
    return unknown("case", id(pattern))


def _any(machine: Machine, frame: Frame, subject: Value, patterns: list[ast.pattern]) -> Value:
    results = [_has(machine, frame, subject, one) for one in patterns]
    result = results[0]
    for other in results[1:]:
        result = both(result, other, conjunction=False)
    return result
