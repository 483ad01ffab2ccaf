"""In which order what all ranks have is put together, where a rank's own comes first."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.values import formulas, symbols
from ddpdoctor.lint.values.values import Symbol, Value, symbol_key
from ddpdoctor.program.nodes import last_name, names_in, walk
from ddpdoctor.program.sites import SourceSite

_JOINING = ("torch.cat", "torch.concat", "torch.concatenate")
_GATHERS = frozenset({"all_gather", "all_gather_object"})


def own_first(facts: ModuleFacts, logits: Value) -> CallEvent | None:
    """The call that joins the columns of a product, this rank's own before those of all others; None if none does."""
    joined = [call for call in facts.named(*_JOINING) if _puts_own_first(call)]
    sites = set(_columns(logits)) if joined else set()
    return next((call for call in joined if call.site in sites), None)


def _columns(logits: Value) -> Iterator[SourceSite]:
    """Where the right side of the products in a value is joined."""
    structures, key = symbols.structures(), symbol_key(logits)
    for inner in formulas.inside(structures, key) if key is not None else ():
        structure = structures.get(inner, ())
        right = structure[2] if len(structure) == 3 and structure[0] == "MatMult" else ()
        atoms = right if isinstance(right, tuple) else ()
        for atom in (atom for atom in atoms if isinstance(atom, Symbol)):
            made = (structures.get(one, ()) for one in formulas.inside(structures, atom.key))
            yield from (s[1] for s in made if len(s) == 2 and s[0] in _JOINING and isinstance(s[1], SourceSite))


def _puts_own_first(call: CallEvent) -> bool:
    """`torch.cat([x, *others])`, where `x` was gathered and the others are all but one of what that gave."""
    function, parts = call.context.function, call.node.args[:1]
    if function is None or not parts:
        return False
    first, rest = _split(parts[0])
    own = names_in(first) if first is not None else set()
    gathers = [n for n in walk(function.node) if isinstance(n, ast.Call) and last_name(n.func) in _GATHERS]
    for gather in (n for n in gathers if len(n.args) > 1 and isinstance(n.args[0], ast.Name)):
        if isinstance(first, ast.Name) and own & names_in(gather.args[1]) and isinstance(gather.args[0], ast.Name):
            return bool(rest) and _all_but_one(rest, gather.args[0].id, function.node)
    return False


def _split(parts: ast.expr) -> tuple[ast.expr | None, list[ast.expr]]:
    """The first of what is joined, and lists of the rest: `[x, *a]`, `[x] + a + b`."""
    if isinstance(parts, ast.BinOp) and isinstance(parts.op, ast.Add):
        first, rest = _split(parts.left)
        return first, [*rest, parts.right]
    if not isinstance(parts, ast.List) or not parts.elts:
        return None, []
    return parts.elts[0], [part.value if isinstance(part, ast.Starred) else part for part in parts.elts[1:]]


def _all_but_one(rest: list[ast.expr], buffer: str, function: ast.AST) -> bool:
    """`[b for i, b in enumerate(buffer) if i != rank]`, or `buffer[:rank]` and `buffer[rank + 1 :]`."""
    if len(rest) == 2:
        slices = [part for part in rest if isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Slice)]
        return len(slices) == 2 and all(last_name(part.value) == buffer for part in slices)
    one = rest[0] if len(rest) == 1 else None
    if isinstance(one, ast.Name):
        assigned = [n.value for n in walk(function) if isinstance(n, ast.Assign) and _is(n.targets[0], one.id)]
        one = assigned[0] if len(assigned) == 1 else None
    if not isinstance(one, ast.ListComp) or len(one.generators) != 1 or buffer not in names_in(one):
        return False
    tests = one.generators[0].ifs
    return len(tests) == 1 and isinstance(tests[0], ast.Compare) and isinstance(tests[0].ops[0], ast.NotEq)


def _is(target: ast.expr, name: str) -> bool:
    return isinstance(target, ast.Name) and target.id == name
