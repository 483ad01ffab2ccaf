"""Polling loops: they sleep until a file is gone, or exists, or until something else that they ask for."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ddpdoctor.model.stacks import Site
from ddpdoctor.program import enclosing
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.program import Program
from ddpdoctor.program.text import text_of

#: functions and methods that tell whether a file exists
_CHECKS = frozenset({"exists", "lexists", "isfile", "is_file", "isdir", "is_dir", "islink", "is_symlink", "access"})
#: calls that create a file and fail if it exists; `open` counts only with mode "x" or O_EXCL
_CLAIMS = frozenset({"mkdir", "makedirs", "symlink", "symlink_to", "link", "hardlink_to", "rename"})
_SLEEPS = frozenset({"sleep"})
_CLOCKS = frozenset({"time", "monotonic", "perf_counter", "time_ns", "monotonic_ns", "now", "utcnow"})


@dataclass(frozen=True, slots=True)
class Poll:
    """A loop that sleeps until a file is gone (`gone`) or exists."""

    #: the test as written: `os.path.exists(lock)`
    check: str
    gone: bool


def polled_file(program: Program, site: Site) -> Poll | None:
    """The file that a loop around a sleeping line waits for; None if there is no such loop."""
    loop = next((n for n in enclosing.around(program, site) if isinstance(n, (ast.While, ast.For))), None)
    tree = program.tree(site.file)
    if loop is None or tree is None or not _sleeps(loop, site.line):
        return None
    found = _test(loop) if isinstance(loop, ast.While) else None
    return Poll(text_of(found[0]), found[1]) if found else _checked_inside(loop)


def asks_again(program: Program, site: Site) -> bool:
    """Whether a loop around a sleeping line goes on for as long as a call answers so, and not for a time."""
    loop = next((n for n in enclosing.around(program, site) if isinstance(n, (ast.While, ast.For))), None)
    if not isinstance(loop, ast.While) or not _sleeps(loop, site.line):
        return False
    asked = {last_name(node.func) for node in walk(loop.test) if isinstance(node, ast.Call)}
    return bool(asked) and not asked & _CLOCKS


def _test(loop: ast.While) -> tuple[ast.expr, bool] | None:
    """The check of the loop's test, or of what the loop sets the variable to that it tests: `while missing:`."""
    if not isinstance(loop.test, ast.Name):
        return _check(loop.test, negated=False)
    sets = (node for node in walk(loop) if isinstance(node, ast.Assign))
    values = [one.value for one in sets if [text_of(target) for target in one.targets] == [loop.test.id]]
    return _check(values[0], negated=False) if len(values) == 1 else None


def _checked_inside(loop: ast.While | ast.For) -> Poll | None:
    """A claim that the loop tries until it succeeds, or a check behind which it is left."""
    for node in walk(loop):
        claim = _claim(node) if isinstance(node, ast.Try) else None
        if claim is not None:
            return Poll(text_of(claim), True)
        found = _check(node.test, negated=True) if isinstance(node, ast.If) and _leaves(node) else None
        if found:
            return Poll(text_of(found[0]), found[1])
    return None


def _claim(attempt: ast.Try) -> ast.AST | None:
    """The call in a `try` that makes a file, if that the file is there is caught."""
    if not any(_catches_presence(handler) for handler in attempt.handlers):
        return None
    return next((call for statement in attempt.body for call in walk(statement) if _is_claim(call)), None)


def _sleeps(loop: ast.AST, line: int) -> bool:
    calls = (n for n in walk(loop) if isinstance(n, ast.Call) and n.lineno <= line <= (n.end_lineno or n.lineno))
    return any(last_name(call.func) in _SLEEPS for call in calls)


def _check(test: ast.expr, *, negated: bool) -> tuple[ast.expr, bool] | None:
    """The test whether a file exists, and whether the loop continues as long as it does."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return _check(inner, negated=not negated)
        case ast.BoolOp(values=values):
            found = [pair for value in values if (pair := _check(value, negated=negated))]
            return found[0] if len(found) == 1 else None
        case ast.Call(func=function) if last_name(function) in _CHECKS:
            return test, not negated
        case ast.Call(func=ast.Name(id="all" | "any"), args=[ast.GeneratorExp(elt=inner) | ast.ListComp(elt=inner)]):
            return _check(inner, negated=negated)
        case ast.ListComp(generators=[ast.comprehension(ifs=[inner])]):
            return _check(inner, negated=negated)
    return None


def _leaves(node: ast.If) -> bool:
    return bool(node.body) and isinstance(node.body[-1], (ast.Break, ast.Return))


def _catches_presence(handler: ast.ExceptHandler) -> bool:
    names = {last_name(node) for node in walk(handler.type)} if handler.type else set()
    return bool(names & {"FileExistsError", "OSError", "IOError"})


def _is_claim(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = last_name(node.func)
    parts = list(walk(node))
    if name == "open":
        exclusive = any(last_name(part) == "O_EXCL" for part in parts)
        modes = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
        return exclusive or any(mode.startswith("x") and set(mode) <= set("xbt+") for mode in modes)
    if name == "touch":
        return any(keyword.arg == "exist_ok" and _is_false(keyword.value) for keyword in node.keywords)
    return name in _CLAIMS


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False
