"""Constructs around a line and on it: functions, loops, conditions, calls. Unknown source gives empty answers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ddpdoctor.model.record import record
from ddpdoctor.program.modules import FunctionNode
from ddpdoctor.program.nodes import children, last_name, walk
from ddpdoctor.program.program import Program

if TYPE_CHECKING:  # as in program.py
    from ddpdoctor.model.stacks import Site

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@record(frozen=True, slots=True)
class Span:
    """The lines of a construct, both ends included, and the text of its first line."""

    first: int
    last: int
    text: str

    def __contains__(self, line: object) -> bool:
        return isinstance(line, int) and self.first <= line <= self.last


def enclosing_loop(program: Program, site: Site) -> Span | None:
    """The innermost loop or comprehension around a line, within its function."""
    chain = enclosing(program, site)
    return next((_span(program, site, n) for n in reversed(chain) if isinstance(n, (*LOOPS, *_COMPREHENSIONS))), None)


def loop_around(program: Program, site: Site) -> ast.AST | None:
    """The innermost statement loop around a line, within its function."""
    return next((node for node in around(program, site) if isinstance(node, LOOPS)), None)


def enclosing_loops(program: Program, site: Site) -> tuple[Span, ...]:
    """All statement loops around a line within its function, innermost first."""
    return tuple(_span(program, site, n) for n in reversed(enclosing(program, site)) if isinstance(n, LOOPS))


def with_block(program: Program, site: Site, names: frozenset[str]) -> Span | None:
    """The innermost `with` around the line whose first line contains one of these names, or calls a function or reads a
    property of the program that does; of one that enters a variable, the statement that gave the variable such a value.
    """
    blocks = [node for node in reversed(enclosing(program, site)) if isinstance(node, ast.With)]
    inside = {block: [part for item in block.items for part in walk(item)] for block in blocks}
    named: list[ast.stmt] = [block for block in blocks if any(last_name(part) in names for part in inside[block])]
    named = named or [block for block in blocks if _leads_to(program, inside[block], names)]
    named = named or [given for block in blocks for given in _assignments(program, site, inside[block], names)]
    return _span(program, site, named[0]) if named else None


def _assignments(program: Program, site: Site, parts: list[ast.AST], names: frozenset[str]) -> Iterator[ast.stmt]:
    """Assignments of the function around the line, to variables among these parts, of values that contain a name."""
    function = function_around(program, site)
    entered = {part.id for part in parts if isinstance(part, ast.Name)}
    for node in walk(function) if function is not None and entered else ():
        to_it = isinstance(node, ast.Assign) and any(last_name(target) in entered for target in node.targets)
        if isinstance(node, ast.Assign) and to_it and any(last_name(part) in names for part in walk(node.value)):
            yield node


def first_call(program: Program, site: Site, names: frozenset[str]) -> Site | None:
    """The first line of the function around this one that calls something of one of these names."""
    function = function_around(program, site)
    called = [node for node in walk(function) if isinstance(node, ast.Call)] if function is not None else []
    lines = [node.lineno for node in called if last_name(node.func) in names]
    if not lines:
        return None
    from dataclasses import replace  # a verdict asks this; lint, which starts faster without, never does

    return replace(site, line=min(lines))


def _leads_to(program: Program, parts: list[ast.AST], names: frozenset[str]) -> bool:
    called = {last_name(part.func) for part in parts if isinstance(part, ast.Call)}
    read = {part.attr for part in parts if isinstance(part, ast.Attribute)}
    return any(_mentions(program, name, names) for name in (called | read) - {""})


def _mentions(program: Program, function: str, names: frozenset[str]) -> bool:
    """Whether every function of this name in the program contains one of the names."""
    modules = filter(None, (program.module(file) for file in program))
    found = [node for module in modules for node in module.of(ast.FunctionDef) if node.name == function]
    return bool(found) and all(any(last_name(node) in names for node in walk(one)) for one in found)


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
    """Whether the innermost if/else around a line tests only the element of the `for` around it."""
    chain = enclosing(program, site)
    places = [n for n, node in enumerate(chain) if isinstance(node, ast.If) and node.orelse]
    test = chain[places[-1]] if places else None
    loops = [node for node in chain[: places[-1]] if isinstance(node, ast.For)] if places else []
    if not isinstance(test, ast.If) or not loops:
        return False
    elements = {node.id for node in walk(loops[-1].target) if isinstance(node, ast.Name)}
    asked = set(_asked(test.test))
    return bool(asked) and asked <= elements | {"isinstance", "len"}


def _asked(test: ast.AST) -> Iterator[str]:
    """The names that the test reads, without constants: `MEAN`, `self.MEAN`, `Kind.MEAN`."""
    if isinstance(test, ast.Attribute) and test.attr.isupper():
        return
    if isinstance(test, ast.Name) and not test.id.isupper():
        yield test.id
    for child in children(test):
        yield from _asked(child)


def called_names(program: Program, file: str, span: Span) -> frozenset[str]:
    """Last names of everything called on these lines: `dist.barrier()` -> barrier."""
    module = program.module(file)
    calls = module.of(ast.Call) if module else []
    return frozenset(last_name(node.func) for node in calls if node.lineno in span) - {""}


def builtins_called(program: Program, site: Site, names: frozenset[str]) -> list[str]:
    """Which of these names are called on the line by their plain name: `input()`, not `table.input()`."""
    return sorted({call.func.id for call in calls_on(program, site) if isinstance(call.func, ast.Name)} & names)


def calls_on(program: Program, site: Site) -> list[ast.Call]:
    """The calls that the line is a part of, outer ones first."""
    module = program.module(site.file)
    calls = module.of(ast.Call) if module else []
    return [call for call in calls if call.lineno <= site.line <= (call.end_lineno or call.lineno)]


def around(program: Program, site: Site) -> tuple[ast.AST, ...]:
    """Nodes around the line within its function, innermost first."""
    return tuple(reversed(enclosing(program, site)))


def function_around(program: Program, site: Site) -> FunctionNode | None:
    """The innermost function around a line; None for code outside functions, or if the source is not known."""
    tree = program.tree(site.file)
    return innermost_function(tree, site.line) if tree else None


def class_around(program: Program, site: Site) -> ast.ClassDef | None:
    """The innermost class around a line; None for code outside classes, or if the source is not known."""
    tree = program.tree(site.file)
    around = nodes_around(tree, site.line) if tree else ()
    return next((node for node in reversed(list(around)) if isinstance(node, ast.ClassDef)), None)


def enclosing(program: Program, site: Site) -> list[ast.AST]:
    """Nodes around the line, outermost first, from the innermost function on."""
    tree = program.tree(site.file)
    chain = list(nodes_around(tree, site.line)) if tree else []
    starts = [index for index, node in enumerate(chain) if isinstance(node, FUNCTIONS)]
    return chain[starts[-1] + 1 :] if starts else chain


def innermost_function(tree: ast.AST, line: int) -> FunctionNode | None:
    """The innermost function around a line; a decorator's line is outside of it."""
    # rules ask for the same few lines of a file again and again
    known: dict[int, FunctionNode | None] = tree.__dict__.setdefault("_innermost", {})
    if line not in known:
        found = functions_around(tree, line)
        known[line] = found[-1] if found else None
    return known[line]


def functions_around(tree: ast.AST, line: int) -> list[FunctionNode]:
    """The functions around a line, outermost first."""
    return [node for node in statements_around(tree, line) if isinstance(node, FUNCTIONS)]


def conditions_around(tree: ast.AST, line: int) -> list[ast.expr]:
    """The conditions of the `if`s in whose bodies a line is, outermost first."""
    around = (node for node in statements_around(tree, line) if isinstance(node, ast.If))
    return [n.test for n in around if n.body[0].lineno <= line <= (n.body[-1].end_lineno or line)]


def conditions_met(tree: ast.AST, line: int) -> list[ast.expr]:
    """What has to hold for a line to run, outermost first: the conditions of the `if`s that it is in, negated where it
    is in their `else`, and the same of those before it of which one side leaves the block that it is in."""
    found: list[ast.expr] = []
    for block in (tree, *statements_around(tree, line)):
        if isinstance(block, ast.If):
            inside = block.body[0].lineno <= line <= (block.body[-1].end_lineno or line)
            behind = bool(block.orelse) and block.orelse[0].lineno <= line
            found += [block.test] if inside else [negated(block.test)] if behind else []
        before = [one for one in _beside(block, line) if isinstance(one, ast.If) and (one.end_lineno or line) < line]
        found += [negated(one.test) for one in before if _leaves(one.body)]
        found += [one.test for one in before if _leaves(one.orelse)]
    return found


def _beside(block: ast.AST, line: int) -> list[ast.stmt]:
    """The statements of a block beside the one that a line is in."""
    parts = (block, *getattr(block, "handlers", ()), *getattr(block, "cases", ()))
    lists = (getattr(part, name, None) for part in parts for name in ("body", "orelse", "finalbody"))
    held = (one for one in lists if isinstance(one, list) and one)
    return next((one for one in held if one[0].lineno <= line <= (one[-1].end_lineno or line)), [])


def _leaves(statements: list[ast.stmt]) -> bool:
    """Whether nothing in the block comes after some statements."""
    return bool(statements) and isinstance(statements[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break))


def negated(test: ast.expr) -> ast.expr:
    """The opposite of a condition."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    return ast.copy_location(ast.UnaryOp(ast.Not(), test), test)


def is_of_program(statement: ast.stmt) -> bool:
    """Whether a statement runs only where its file is started as a program: `if __name__ == "__main__":`."""
    test = statement.test if isinstance(statement, ast.If) else None
    return isinstance(test, ast.Compare) and last_name(test.left) == "__name__"


def choices_at(tree: ast.AST, line: int) -> list[ast.expr]:
    """The conditions on which depends whether a line runs, or what on it: of the `if`s and conditional expressions that
    it is in, on whichever side."""
    return [node.test for node in nodes_around(tree, line) if isinstance(node, (ast.If, ast.IfExp))]


def statements_around(tree: ast.AST, line: int) -> list[ast.stmt]:
    """The statements that a line is in, outermost first."""
    found: list[ast.stmt] = []
    blocks = [tree]
    # only statements, and what holds them, can hold a statement
    for block in blocks:
        for child in children(block):
            if isinstance(child, (ast.ExceptHandler, ast.match_case)):
                blocks.append(child)
            elif isinstance(child, ast.stmt) and child.lineno <= line <= (child.end_lineno or child.lineno):
                blocks.append(child)
                found.append(child)
    return found


def nodes_around(node: ast.AST, line: int) -> Iterator[ast.AST]:
    """The nodes that begin on or before a line and end on or after it, outermost first; without `node` itself."""
    for child in children(node):
        first = getattr(child, "lineno", None)
        if first is None:
            yield from nodes_around(child, line)  # a `case`, arguments, a comprehension's `for`
        elif first <= line <= (getattr(child, "end_lineno", None) or first):
            yield child
            yield from nodes_around(child, line)


def _span(program: Program, site: Site, node: ast.AST) -> Span:
    first = getattr(node, "lineno", site.line)
    last = getattr(node, "end_lineno", None) or first
    return Span(first, last, program.line_text(site.file, first))
