"""Shares of the gradients that a rank clips by the norm of its own share."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.modules import FunctionInfo
from ddpdoctor.program.nodes import last_name, names_in, walk
from ddpdoctor.program.sites import SourceSite, site_of
from ddpdoctor.program.text import text_of

_SCATTERS = tuple(
    f"torch.distributed.{name}" for name in ("reduce_scatter_tensor", "reduce_scatter_single", "reduce_scatter")
)
#: methods and functions that give the norm of a tensor
_NORMS = frozenset({"norm", "vector_norm"})
#: what keeps a factor from growing a gradient: `(limit / norm).clamp(max=1.0)`
LIMITS = frozenset({"clamp", "clamp_", "clip", "min", "minimum"})
#: variables that are made of one another
_DEPTH = 4


class ClippedShare(NamedTuple):
    """Where a rank measures its share, and where it makes it smaller by that; what left it the share."""

    norm: SourceSite
    scaled: SourceSite
    scattered: CallEvent


def found(facts: ModuleFacts) -> Iterator[ClippedShare]:
    """All in the functions that leave each rank its share of a sum over the ranks."""
    for call in facts.named(*_SCATTERS):
        function, share = call.context.function, _text(call)
        if function is None or not share or isinstance(function.node, ast.Lambda):
            continue
        for name, norm in _norms(function, share, call.node.lineno):
            scaled = next(_scaled(function, share, name), None)
            if scaled is not None and not _meets(function, name, (norm.lineno, scaled.lineno)):
                module = function.module
                yield ClippedShare(site_of(module, norm), site_of(module, scaled), call)


def _text(call: CallEvent) -> str:
    """How the tensor that the call fills with this rank's share is written."""
    given = call.node.args[0] if call.node.args else None
    given = given or next((k.value for k in call.node.keywords if k.arg == "output"), None)
    return text_of(given) if isinstance(given, (ast.Name, ast.Attribute)) else ""


def _norms(function: FunctionInfo, share: str, line: int) -> Iterator[tuple[str, ast.expr]]:
    """Variables that hold the norm of a share, and what it is written as."""
    for node in walk(function.node):
        later = isinstance(node, ast.Assign) and node.lineno > line and _is_norm(node.value, share)
        if later and isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value


def _is_norm(value: ast.expr, share: str) -> bool:
    """`share.norm()`, `torch.linalg.vector_norm(share)`"""
    if not isinstance(value, ast.Call) or last_name(value.func) not in _NORMS:
        return False
    of = value.func.value if isinstance(value.func, ast.Attribute) else None
    return share in (text_of(of) if of is not None else "", *(text_of(a) for a in value.args[:1]))


def _scaled(function: FunctionInfo, share: str, norm: str) -> Iterator[ast.AugAssign | ast.Call]:
    """Where the share is multiplied by a factor that the norm limits."""
    factors = {
        n.targets[0].id: n.value for n in walk(function.node)
        if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)
    }  # fmt: skip
    for node in walk(function.node):
        factor = _factor(node, share)
        if factor is not None and isinstance(node, (ast.AugAssign, ast.Call)):
            made = list(_made_of(factor, factors))
            of_norm = any(norm in names_in(one) for one in made)
            limited = any(LIMITS & called(one) for one in made) or guarded(function.node, node, norm)
            if of_norm and limited:
                yield node


def _factor(node: ast.AST, share: str) -> ast.expr | None:
    """`share *= factor`, `share.mul_(factor)`"""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Mult) and text_of(node.target) == share:
        return node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "mul_":
        return node.args[0] if node.args and text_of(node.func.value) == share else None
    return None


def _made_of(factor: ast.expr, factors: dict[str, ast.expr], depth: int = _DEPTH) -> Iterator[ast.expr]:
    yield factor
    for name in names_in(factor) & factors.keys() if depth else ():
        yield from _made_of(factors[name], factors, depth - 1)


def called(node: ast.AST) -> set[str]:
    """The names of the functions and methods that are called in a part of the source."""
    return {last_name(n.func) for n in walk(node) if isinstance(n, ast.Call)}


def guarded(function: ast.AST, node: ast.AST, norm: str) -> bool:
    """Whether it is done where the norm is larger than something: `if norm > limit`."""
    line = getattr(node, "lineno", 0)
    tests = [n for n in walk(function) if isinstance(n, ast.If) and n.lineno < line <= (n.end_lineno or 0)]
    asked = (part for n in tests for part in walk(n.test) if isinstance(part, ast.Compare))
    return any(norm in names_in(part) for part in asked)


def _meets(function: FunctionInfo, norm: str, lines: tuple[int, int]) -> bool:
    """Whether ranks may bring their norms together in between: by a collective, or by what is given the norm."""
    calls = (n for n in walk(function.node) if isinstance(n, ast.Call) and lines[0] <= n.lineno <= lines[1])
    return any(_may_meet(function, call, norm) for call in calls)


def _may_meet(function: FunctionInfo, call: ast.Call, norm: str) -> bool:
    path = function.module.imported(call.func)
    if path.startswith("torch."):
        return path.startswith("torch.distributed.")
    given = {name for value in (*call.args, *(k.value for k in call.keywords)) for name in names_in(value)}
    return norm in given and last_name(call.func) not in _PLAIN


#: functions and methods that give this rank's number, or change this rank's share
_PLAIN = frozenset({"min", "max", "float", "mul_"})
