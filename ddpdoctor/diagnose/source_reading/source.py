"""Reading the job's source: what lies around a line. Unreadable or changed source answers nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeGuard

from ddpdoctor.model.stacks import Site
from ddpdoctor.program.program import Program

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_RANK_WORDS = re.compile(r"(^|_)rank(_|$|zero)|main_process|is_master|is_chief|is_primary", re.IGNORECASE)
_RANK_VARIABLES = frozenset({"RANK", "LOCAL_RANK", "GROUP_RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"})


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


def rank_condition(program: Program, site: Site) -> Span | None:
    """The innermost `if` that lets only some ranks come to the line, directly or through a name that holds a rank.

    It stands around the line, or before it in the same function and sends the others away (`if rank != 0: return`).
    """
    tree = program.tree(site.file)
    if tree is None:
        return None
    names = _rank_names(tree)
    for node in (*reversed(enclosing(program, site)), _function(tree, site.line)):
        if isinstance(node, ast.If) and _in_branch(node, site.line) and _asks_rank(node.test, names):
            return _span(program, site, node)
        body = getattr(node, "body", [])  # a lambda's is an expression
        for before in reversed(body if isinstance(body, list) else []):
            if _sends_away(before, site.line) and _asks_rank(before.test, names):
                return _span(program, site, before)
    return None


def condition_on_rank(program: Program, site: Site) -> Span | None:
    """The `if` that begins on the line, if it asks for the rank."""
    tree = program.tree(site.file)
    nodes = ast.walk(tree) if tree else ()
    node = next((n for n in nodes if isinstance(n, ast.If) and n.lineno == site.line), None)
    asks = tree is not None and node is not None and _asks_rank(node.test, _rank_names(tree))
    return _span(program, site, node) if asks and node else None


def _function(tree: ast.Module, line: int) -> ast.AST:
    """The innermost function around a line, else the module."""
    found = [node for node in _around(tree, line) if isinstance(node, _FUNCTIONS)]
    return found[-1] if found else tree


def _sends_away(node: ast.AST, line: int) -> TypeGuard[ast.If]:
    """An `if` before the line whose body does not come to it."""
    if not isinstance(node, ast.If) or node.orelse or (node.end_lineno or node.lineno) >= line:
        return False
    return isinstance(node.body[-1], (ast.Return, ast.Continue, ast.Break, ast.Raise))


def _in_branch(node: ast.If, line: int) -> bool:
    """The line is in one of the branches; one-line statements have both on one line."""
    return line > (node.test.end_lineno or node.lineno) or node.body[0].lineno == node.lineno == line


def _asks_rank(expression: ast.expr, names: frozenset[str]) -> bool:
    """The expression is a rank or compares one: by a telling word, the API, or a name assigned from either.

    What is merely computed with a rank (`load(rank)`, `3 if rank else 0`) is data, and a condition on it is another;
    unless a function of the file does nothing but reckon with what it is given.
    """
    match expression:
        case ast.BoolOp():
            return any(_asks_rank(value, names) for value in expression.values)
        case ast.Compare():
            return any(_asks_rank(value, names) for value in (expression.left, *expression.comparators))
        case ast.UnaryOp():
            return _asks_rank(expression.operand, names)
        case ast.BinOp() | ast.NamedExpr():
            return _asks_rank(expression.left if isinstance(expression, ast.BinOp) else expression.value, names)
        case ast.Subscript():
            return _is_rank_variable(expression.slice)
        case ast.IfExp():
            # `writer = Writer() if rank == 0 else None`: that it is there tells the rank
            absent = [isinstance(way, ast.Constant) and not way.value for way in (expression.body, expression.orelse)]
            return any(absent) and not all(absent) and _asks_rank(expression.test, names)
        case ast.Call():
            wrapped = last_name(expression.func) in ("int", "bool", "get", "getenv")
            inner = any(_is_rank_variable(arg) or _asks_rank(arg, names) for arg in expression.args[:1])
            reckoned = f"{last_name(expression.func)}()" in names
            given = any(_asks_rank(arg, names) for arg in expression.args) if reckoned else False
            return (wrapped and inner) or given or _is_rank_word(last_name(expression.func), names)
    return _is_rank_word(last_name(expression), names)


def _is_rank_word(word: str, names: frozenset[str]) -> bool:
    return bool(word) and (word in names or _RANK_WORDS.search(word) is not None)


def mentions_rank(expression: ast.expr) -> bool:
    """A word for a rank, or an environment variable that holds one, is anywhere in the expression."""
    return any(
        _is_rank_word(last_name(node), frozenset()) or (isinstance(node, ast.Constant) and _is_rank_variable(node))
        for node in ast.walk(expression)
    )


def _is_rank_variable(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in _RANK_VARIABLES


def _rank_names(tree: ast.Module) -> frozenset[str]:
    """Names and attributes that the file assigns from a rank or a comparison of one, and `name()` of what reckons."""
    found: list[tuple[ast.expr, ast.expr]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            found.extend(pairs(node.targets, node.value))
        elif isinstance(node, ast.AnnAssign) and node.value:
            found.append((node.target, node.value))
    # a parameter that is passed a comparison; a rank that is passed on as a number may be anything there
    given = ((ast.Name(name), value) for (_, name), values in passed(tree).items() for value in values)
    found.extend((name, value) for name, value in given if isinstance(value, (ast.Compare, ast.UnaryOp, ast.BoolOp)))
    names = frozenset(f"{node.name}()" for node in ast.walk(tree) if isinstance(node, _FUNCTIONS) and _reckons(node))
    for _ in range(2):
        names |= {last_name(target) for target, value in found if _asks_rank(value, names)} - {""}
    return names


#: what an expression may consist of that only reckons
_RECKONING = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.Name, ast.Constant, ast.operator, ast.unaryop)


def _reckons(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """The function does nothing but return what follows from its parameters by arithmetic: `(rank + 1) % world`."""
    body = [one for one in function.body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]
    if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
        return False
    given = {arg.arg for arg in (*function.args.posonlyargs, *function.args.args)}
    parts = (*_RECKONING, ast.cmpop, ast.boolop, ast.expr_context)
    return all(
        isinstance(node, parts) and (not isinstance(node, ast.Name) or node.id in given)
        for node in ast.walk(body[0].value)
    )


def passed(tree: ast.Module) -> dict[tuple[str, str], list[ast.expr]]:
    """(function, parameter) -> what the calls in the file pass for it; functions are told by their last name."""
    functions = {node.name: node.args for node in ast.walk(tree) if isinstance(node, _FUNCTIONS)}
    found: dict[tuple[str, str], list[ast.expr]] = {}
    for call in ast.walk(tree):
        name = last_name(call.func) if isinstance(call, ast.Call) else ""
        if not isinstance(call, ast.Call) or name not in functions:
            continue
        names = [arg.arg for arg in (*functions[name].posonlyargs, *functions[name].args)]
        bound = isinstance(call.func, ast.Attribute) and names[:1] == ["self"]
        for parameter, value in zip(names[1:] if bound else names, call.args, strict=False):
            found.setdefault((name, parameter), []).append(value)
        for keyword in call.keywords:
            found.setdefault((name, keyword.arg or ""), []).append(keyword.value)
    return found


def pairs(targets: list[ast.expr], value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """(target, value) of an assignment, element by element where both sides are tuples."""
    found: list[tuple[ast.expr, ast.expr]] = []
    for target in targets:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            found.extend(zip(target.elts, value.elts, strict=True))
        elif not isinstance(target, ast.Tuple):
            found.append((target, value))
    return found


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
