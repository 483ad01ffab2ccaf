"""Questions to the job's own source: which conditions enclose a line, what lies between two lines of a loop."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ddpdoctor.model.evidence import SourceFile
from ddpdoctor.model.stacks import Site

#: What a test on the own rank looks like in source; a name that only contains "rank" as a word's part does not count.
_RANK_TEST = re.compile(
    r"\b(\w+_)?rank\b(?!s)|\bget_rank\(|\bis_(main|master|local_main|world)_?\w*\b|\bis_rank_?(zero|0)\w*\b"
    r"|\bprocess_index\b|\bRANK\b",
)


@dataclass(frozen=True, slots=True)
class Condition:
    """An `if`, `while` or `else` that encloses a line. `text` is the test as written."""

    file: str
    line: int
    text: str

    def tests_rank(self) -> bool:
        return bool(_RANK_TEST.search(self.text))


@functools.lru_cache(maxsize=64)
def _parse(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None


def line_of(code: Mapping[str, SourceFile], file: str, line: int) -> str:
    """The text of a line, stripped; "" where the source is not at hand."""
    source = code.get(file)
    lines = source.text.splitlines() if source else []
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""


def conditions(code: Mapping[str, SourceFile], site: Site) -> tuple[Condition, ...]:
    """The conditions that a line stands under inside its function, innermost first."""
    source = code.get(site.file)
    tree = _parse(source.text) if source else None
    if tree is None:
        return ()
    found = [
        Condition(site.file, node.lineno, ast.unparse(node.test))
        for node in _enclosing(tree, site.line)
        if isinstance(node, (ast.If, ast.While, ast.IfExp)) and not _spans(node.test, site.line)
    ]
    return tuple(reversed(found))


def departures(code: Mapping[str, SourceFile], file: str, first: int, last: int) -> tuple[int, ...]:
    """Lines of `continue`, `break` or `return` between two lines of one function, first < line < last."""
    source = code.get(file)
    tree = _parse(source.text) if source else None
    if tree is None:
        return ()
    leaving = (ast.Continue, ast.Break, ast.Return)
    return tuple(sorted(n.lineno for n in ast.walk(tree) if isinstance(n, leaving) and first < n.lineno < last))


def loop_of(code: Mapping[str, SourceFile], site: Site) -> int | None:
    """The line of the innermost `for` or `while` around a line, None where there is none."""
    source = code.get(site.file)
    tree = _parse(source.text) if source else None
    loops = [n.lineno for n in _enclosing(tree, site.line) if isinstance(n, (ast.For, ast.While))] if tree else []
    return loops[-1] if loops else None


def _enclosing(tree: ast.Module, line: int) -> Iterator[ast.stmt]:
    """Statements around a line, outermost first, from the innermost function on."""
    chain: list[ast.stmt] = []
    body: list[ast.AST] = [tree]
    while body:
        node = body.pop()
        for child in ast.iter_child_nodes(node):
            if _spans(child, line):
                if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    chain.clear()
                elif isinstance(child, ast.stmt):
                    chain.append(child)
                body.append(child)
    yield from chain


def _spans(node: ast.AST, line: int) -> bool:
    start = getattr(node, "lineno", None)
    end = getattr(node, "end_lineno", None)
    return start is not None and end is not None and start <= line <= end


def function_start(code: Mapping[str, SourceFile], site: Site) -> int | None:
    """The line of the `def` that a line is in, None at module level or without source."""
    source = code.get(site.file)
    tree = _parse(source.text) if source else None
    defs = (ast.FunctionDef, ast.AsyncFunctionDef)
    starts = [n.lineno for n in ast.walk(tree) if isinstance(n, defs) and _spans(n, site.line)] if tree else []
    return max(starts, default=None)
