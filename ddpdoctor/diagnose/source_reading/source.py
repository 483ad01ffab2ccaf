"""Reading the job's source: what lies around a line. Unreadable or changed source answers nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ddpdoctor.model.stacks import Site
from ddpdoctor.program.program import Program

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True, slots=True)
class Span:
    """Lines of a construct, both included, and its first line's text."""

    first: int
    last: int
    text: str

    def __contains__(self, line: object) -> bool:
        return isinstance(line, int) and self.first <= line <= self.last


def enclosing_loop(program: Program, site: Site) -> Span | None:
    """The innermost loop or comprehension around a line, within its function."""
    chain = enclosing(program, site)
    return next((_span(program, site, n) for n in reversed(chain) if isinstance(n, (*LOOPS, *_COMPREHENSIONS))), None)


def enclosing_loops(program: Program, site: Site) -> tuple[Span, ...]:
    """All statement loops around a line within its function, innermost first."""
    return tuple(_span(program, site, n) for n in reversed(enclosing(program, site)) if isinstance(n, LOOPS))


def last_name(node: ast.AST) -> str:
    """`barrier` of `dist.barrier`, "" for what has no name."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def no_sync_block(program: Program, site: Site) -> Span | None:
    """The innermost `with` around the line that names no_sync."""
    for node in reversed(enclosing(program, site)):
        names = {last_name(n) for item in node.items for n in ast.walk(item)} if isinstance(node, ast.With) else set()
        if "no_sync" in names:
            return _span(program, site, node)
    return None


def branches(program: Program, site: Site) -> tuple[Span, Span] | None:
    """Both sides of the innermost if/else around a line: (the line's own side, the other side)."""
    for node in reversed(enclosing(program, site)):
        if isinstance(node, ast.If) and node.orelse:
            sides = [(part[0].lineno, part[-1].end_lineno or part[-1].lineno) for part in (node.body, node.orelse)]
            spans = [Span(first, last, "") for first, last in sides]
            if site.line in spans[0]:
                return spans[0], spans[1]
            if site.line in spans[1]:
                return spans[1], spans[0]
    return None


def if_around(program: Program, site: Site) -> Span | None:
    """The innermost `if` around a line, within its function."""
    return next((_span(program, site, n) for n in reversed(enclosing(program, site)) if isinstance(n, ast.If)), None)


def asks_element(program: Program, site: Site) -> bool:
    """The innermost if/else around a line asks for nothing but the element of the `for` around it."""
    chain = enclosing(program, site)
    places = [n for n, node in enumerate(chain) if isinstance(node, ast.If) and node.orelse]
    test = chain[places[-1]] if places else None
    loops = [node for node in chain[: places[-1]] if isinstance(node, ast.For)] if places else []
    if not isinstance(test, ast.If) or not loops:
        return False
    elements = {node.id for node in ast.walk(loops[-1].target) if isinstance(node, ast.Name)}
    asked = {node.id for node in ast.walk(test.test) if isinstance(node, ast.Name)}
    return bool(asked) and asked <= elements | {"isinstance", "len"}


def called_names(program: Program, file: str, span: Span) -> frozenset[str]:
    """Last names of everything called on these lines: `dist.barrier()` -> barrier."""
    tree = program.tree(file)
    names = set()
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Call) and node.lineno in span:
            target = node.func
            names.add(target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", ""))
    return frozenset(names - {""})


def builtins_called(program: Program, site: Site, names: frozenset[str]) -> list[str]:
    """Which of these names are called on the line, by nothing but their name: `input()`, not `table.input()`."""
    tree = program.tree(site.file)
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call)) if tree else ()
    here = (call.func for call in calls if call.lineno <= site.line <= (call.end_lineno or call.lineno))
    return sorted({func.id for func in here if isinstance(func, ast.Name)} & names)


def around(program: Program, site: Site) -> tuple[ast.AST, ...]:
    """Nodes around the line within its function, innermost first."""
    return tuple(reversed(enclosing(program, site)))


def function_around(program: Program, site: Site) -> ast.AST | None:
    """The innermost function around a line; None for code outside of functions, or where the source is not known."""
    tree = program.tree(site.file)
    found = [node for node in _around(tree, site.line) if isinstance(node, _FUNCTIONS)] if tree else []
    return found[-1] if found else None


def enclosing(program: Program, site: Site) -> list[ast.AST]:
    """Nodes around the line, outermost first, from the innermost function on."""
    tree = program.tree(site.file)
    chain = list(_around(tree, site.line)) if tree else []
    starts = [index for index, node in enumerate(chain) if isinstance(node, _FUNCTIONS)]
    return chain[starts[-1] + 1 :] if starts else chain


def _around(node: ast.AST, line: int) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        first = getattr(child, "lineno", None)
        last = getattr(child, "end_lineno", None)
        if first is not None and first <= line <= (last or first):
            yield child
            yield from _around(child, line)


def _span(program: Program, site: Site, node: ast.AST) -> Span:
    first = getattr(node, "lineno", site.line)
    last = getattr(node, "end_lineno", None) or first
    return Span(first, last, program.line_text(site.file, first))
