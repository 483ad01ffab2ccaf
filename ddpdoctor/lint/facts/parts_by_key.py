"""Parts of a network that it calls by the keys of a dict it is given, and dicts that have a key only where the data has
something of that kind: `for kind, edges in graph.items(): self.layers[kind](edges)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.facts.skipped_parts import Skipped
from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.program.modules import ClassInfo, FunctionInfo
from ddpdoctor.program.nodes import last_name, names_in, walk
from ddpdoctor.program.sites import SourceSite, site_of
from ddpdoctor.program.text import text_of

_BY_NAME = "ModuleDict"
#: methods that go through the keys of a dict
_KEYS = frozenset({"items", "keys"})
#: how much there is of something, or whether there is any
_SIZES = frozenset({"size", "shape", "numel", "nelement", "len", "any", "sum"})


def of_class(cls: ClassInfo) -> Iterator[Skipped]:
    """Parts of a dict of networks that a method calls by the keys of what it is given."""
    init = cls.methods.get("__init__")
    made = (n for n in walk(init.node) if isinstance(n, ast.Assign)) if init is not None else ()
    held = {
        target.attr
        for node in made if isinstance(node.value, ast.Call) and last_name(node.value.func) == _BY_NAME
        for target in node.targets if isinstance(target, ast.Attribute)
    }  # fmt: skip
    for method in cls.methods.values() if held else ():
        if method.name != "__init__":
            yield from _of_method(method, held)


def _of_method(method: FunctionInfo, held: set[str]) -> Iterator[Skipped]:
    source = "\n".join(method.module.lines[method.node.lineno - 1 : method.node.end_lineno])
    if heuristics.BRINGS_TOGETHER.found_in(source):
        return
    given = {parameter.arg for parameter in method.parameters[1:]}
    for loop in walk(method.node):
        if not isinstance(loop, ast.For) or _gone_through(loop.iter) not in given:
            continue
        calls = [n for s in loop.body for n in walk(s) if isinstance(n, ast.Call)]
        for call in calls:
            part = _called(call.func, names_in(loop.target))
            if part in held:
                site = site_of(method.module, loop.iter)
                yield Skipped(site, text_of(loop.iter), part, site_of(method.module, call), None)


def _gone_through(over: ast.expr) -> str:
    """The variable whose keys a loop goes through, "" if it goes through something else."""
    if isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) and over.func.attr in _KEYS:
        over = over.func.value
    return over.id if isinstance(over, ast.Name) else ""


def _called(function: ast.expr, keys: set[str]) -> str:
    """The attribute of which a call takes one part by one of these variables: `self.layers[kind]`."""
    by_key = isinstance(function, ast.Subscript) and isinstance(function.slice, ast.Name) and function.slice.id in keys
    held = function.value if by_key and isinstance(function, ast.Subscript) else None
    return held.attr if isinstance(held, ast.Attribute) else ""


def left_out(facts: ModuleFacts) -> SourceSite | None:
    """Where a dict of the program gets an entry for each of some kinds only where there is something of the kind."""
    for module in facts.modules:
        for node in module.nodes:
            if isinstance(node, ast.DictComp) and _chooses(node):
                return site_of(module, node)
            if isinstance(node, ast.For):
                filled = next(_filled(node), None)
                if filled is not None:
                    return site_of(module, filled)
    return None


def _chooses(node: ast.DictComp) -> bool:
    """`{kind: e for kind, e in edges.items() if len(e)}`"""
    first = node.generators[0]
    by_kind = isinstance(node.key, ast.Name) and node.key.id in names_in(first.target)
    return by_kind and _gone_through(first.iter) != "" and any(map(_asks_for_any, first.ifs))


def _filled(loop: ast.For) -> Iterator[ast.stmt]:
    """Entries that a loop makes for the kinds of which there is something: `if e.size(1): found[kind] = e`."""
    keys = names_in(loop.target)
    for node in loop.body:
        if isinstance(node, ast.If) and not node.orelse and _asks_for_any(node.test):
            for inner in node.body:
                targets = inner.targets if isinstance(inner, ast.Assign) else []
                if any(
                    isinstance(t, ast.Subscript) and names_in(t.slice) & keys and not _is_sliced(t) for t in targets
                ):
                    yield inner


def _is_sliced(target: ast.Subscript) -> bool:
    return isinstance(target.slice, (ast.Tuple, ast.Slice))


def _asks_for_any(test: ast.expr) -> bool:
    """Whether a condition asks how much there is of something, of a variable that the loop has made or goes through."""
    return any(last_name(n) in _SIZES for n in walk(test) if isinstance(n, (ast.Name, ast.Attribute)))
