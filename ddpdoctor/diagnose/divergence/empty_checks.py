"""Conditions in the source on whether a collection is empty, and the names that hold collections."""

from __future__ import annotations

import ast

from ddpdoctor.diagnose.divergence import statements
from ddpdoctor.model.stacks import Site
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.program import Program

_MAKING = frozenset({"list", "dict", "set", "deque", "defaultdict", "OrderedDict"})
_FILLING = frozenset({"append", "extend", "add", "insert", "setdefault", "appendleft"})
_DISPLAYS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)


def asks_empty(program: Program, site: Site) -> bool:
    """Whether the `if` on this line tests only for emptiness: `not found`, `len(found) == 0`, `x.numel()`."""
    tree = program.tree(site.file)
    nodes = walk(tree) if tree else ()
    test = next((n.test for n in nodes if isinstance(n, ast.If) and n.lineno == site.line), None)
    return tree is not None and test is not None and _asks(test, _held(tree))


def asks_none(program: Program, site: Site) -> bool:
    """Whether the statement on this line tests for None, which is how loops that fetch detect the end of data."""
    tree = program.tree(site.file)
    heads = (n for n in walk(tree) if isinstance(n, ast.stmt) and n.lineno == site.line) if tree else ()
    asked = (node for stmt in heads for part in statements.head(stmt) for node in walk(part))
    return any(isinstance(node, ast.Compare) and _compares_with_none(node) for node in asked)


def _compares_with_none(node: ast.Compare) -> bool:
    pairs = zip(node.ops, node.comparators, strict=True)
    return any(
        isinstance(op, (ast.Is, ast.IsNot)) and isinstance(c, ast.Constant) and c.value is None for op, c in pairs
    )


def _asks(test: ast.expr, held: frozenset[str]) -> bool:
    match test:
        case ast.UnaryOp(op=ast.Not()):
            return _asks(test.operand, held)
        case ast.Compare(left=left, comparators=[ast.Constant(value=0 | 1)]):
            return _counts(left)
    return _counts(test) or last_name(test) in held


def _counts(expression: ast.expr) -> bool:
    return isinstance(expression, ast.Call) and last_name(expression.func) in ("len", "numel")


def _held(tree: ast.Module) -> frozenset[str]:
    """Names and attributes that the file assigns a collection, or fills like one."""
    found: set[str] = set()
    for node in walk(tree):
        if isinstance(node, ast.Assign):
            made = isinstance(node.value, ast.Call) and last_name(node.value.func) in _MAKING
            if made or isinstance(node.value, _DISPLAYS):
                found |= {last_name(target) for target in node.targets}
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _FILLING:
            found.add(last_name(node.func.value))
    return frozenset(found - {""})
