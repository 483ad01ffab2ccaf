"""Annotation comments, which declare a taint: `# ddpdoctor: uniform(stop)`, `rank-local(path)`. Pure.

    stop = decide(state)  # ddpdoctor: uniform(stop)

declares that `stop` is equal on all ranks there; `rank-local(x)` declares that it may differ. The declaration applies
to this expression in the statement that the comment ends, or, for a comment on a line of its own, in the whole next
statement.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping

from ddpdoctor.lint import suppress
from ddpdoctor.lint.comments import Comment
from ddpdoctor.lint.comments import read as read_comments
from ddpdoctor.lint.own_rules import INEFFECTIVE
from ddpdoctor.lint.values.values import Taint
from ddpdoctor.model.finding import Finding
from ddpdoctor.model.late_pattern import late_pattern
from ddpdoctor.model.record import record
from ddpdoctor.program.modules import Module
from ddpdoctor.program.text import text_of

_OURS = late_pattern(r"#\s*ddpdoctor:\s*(?P<word>[A-Za-z][\w-]*)?")
_TAINTS = {"uniform": Taint.UNIFORM, "rank-local": Taint.RANK_LOCAL}
_SAID = late_pattern(r"[\s,;]*(?P<word>uniform|rank-local)\s*\(", re.IGNORECASE)
#: most characters of an expression in a comment, and of the text after it
LONGEST = 400
_WORDS = (*_TAINTS, "ignore", "ignore-file")


@record(frozen=True, slots=True)
class Fault:
    """An annotation comment without effect; columns from 1."""

    line: int
    column: int
    end_column: int
    message: str


@record(frozen=True, slots=True)
class Annotations:
    """The annotations of one file: taints by the `id` of an expression's node, and comments without effect.

    The ids are those of the module's tree, which must be kept alive.
    """

    #: all comments of the file, if one of them is for ddpdoctor
    comments: tuple[Comment, ...]
    taints: Mapping[int, Taint]
    faults: tuple[Fault, ...]


NOTHING = Annotations((), {}, ())


def of(module: Module) -> Annotations:
    """Match every comment of a file with the expressions that it names."""
    if not module.annotated:
        return NOTHING
    comments = tuple(read_comments(module.text))
    taints: dict[int, Taint] = {}
    faults: list[Fault] = []
    statements: _Statements | None = None
    for comment in comments:
        match = _OURS.search(comment.text)
        if match is None:
            continue
        word = (match.group("word") or "").lower()
        problem = _unknown(match.group("word") or "") if word not in _WORDS else ""
        if word == "ignore":
            problem = suppress.problem(comment.text)
        if word in _TAINTS:
            statements = statements or _Statements(module.tree)
            problem = _teach(comment, match.start("word"), statements, taints)
        if problem:
            start = comment.column + match.start() + 1
            faults.append(Fault(comment.line, start, comment.column + len(comment.text) + 1, problem))
    return Annotations(comments, taints, tuple(faults))


class Taints(dict[Module, Mapping[int, Taint]]):
    """The taints from comments, by module and the `id` of a node; a module's comments are read when first asked for."""

    def __missing__(self, module: Module) -> Mapping[int, Taint]:
        self[module] = of(module).taints
        return self[module]


def findings(faults: Iterable[Fault], file: str) -> Iterator[Finding]:
    """One finding for each comment without effect."""
    rule = INEFFECTIVE
    for fault in faults:
        yield Finding(
            rule.code, rule.name, rule.severity, file, fault.line, fault.column, fault.line, fault.end_column,
            fault.message, advice=rule.advice,
        )  # fmt: skip


def _unknown(word: str) -> str:
    said = f"ddpdoctor does not know {word!r} in a comment" if word else "nothing follows `ddpdoctor:`"
    return f"{said}: write uniform(...), rank-local(...), ignore[...] or ignore-file"


def _teach(comment: Comment, at: int, statements: _Statements, taints: dict[int, Taint]) -> str:
    """Record the nodes that the comment names; returns the reason if there are none, "" otherwise."""
    rest = comment.text[at : at + LONGEST]
    while match := _SAID.match(rest):
        taint = _TAINTS[match["word"].lower()]
        rest = rest[match.end() :]
        wanted, end = _argument(rest)
        if not wanted:
            return "the text in parentheses is not a Python expression"
        rest = rest[end:]
        about = statements.about(comment)
        found = next(filter(None, (_occurrences(s, wanted, comment) for s in about)), [])
        if not about:
            return "there is no statement to which this comment could apply"
        if not found:
            return f"`{wanted}` does not occur in the statement to which this comment applies"
        taints.update((id(node), taint) for node in found)
        at = 0
    return "" if at == 0 else "write the expression in parentheses: uniform(...) or rank-local(...)"


def _occurrences(statement: ast.stmt, wanted: str, comment: Comment) -> list[ast.AST]:
    return [node for node in (ast.walk(statement) if comment.alone else _header(statement)) if _same(node, wanted)]


def _argument(rest: str) -> tuple[str, int]:
    """The expression up to its closing parenthesis, normalised, and the position where it ends; "" for none."""
    end = rest.find(")")
    while end >= 0:
        try:
            # in parentheses, which `stop := decide()` needs
            said = rest[:end].strip()
            return (text_of(ast.parse(f"({said})", mode="eval")) if said else ""), end + 1
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            end = rest.find(")", end + 1)
    return "", 0


def _same(node: ast.AST, wanted: str) -> bool:
    if isinstance(node, ast.arg):
        return node.arg == wanted
    try:
        return isinstance(node, ast.expr) and text_of(node) == wanted
    except RecursionError:
        return False


class _Statements:
    """The statements of a file by line; indexed when a comment first asks for one."""

    def __init__(self, tree: ast.Module) -> None:
        self._on_line: dict[int, list[ast.stmt]] = {}
        self._starts: list[int] = []
        self._outermost: dict[int, ast.stmt] = {}
        for node in ast.walk(tree):  # outer ones first
            if isinstance(node, ast.stmt):
                self._outermost.setdefault(node.lineno, node)
                for line in range(node.lineno, _head_end(node) + 1):
                    self._on_line.setdefault(line, []).append(node)
        self._starts = sorted(self._outermost)

    def about(self, comment: Comment) -> list[ast.stmt]:
        """Statements that end on the comment's line or have their head there, inner ones first; for a comment on a line
        of its own the next statement.
        """
        if not comment.alone:
            return self._on_line.get(comment.line, [])[::-1]
        after = bisect_right(self._starts, comment.line)
        return [self._outermost[self._starts[after]]] if after < len(self._starts) else []


def _head_end(statement: ast.stmt) -> int:
    """The last line before the body of a compound statement; the last line of any other."""
    body: list[ast.stmt] = getattr(statement, "body", [])
    if body:
        return max(statement.lineno, body[0].lineno - 1)
    return statement.end_lineno or statement.lineno


def _header(statement: ast.stmt) -> Iterator[ast.AST]:
    """Everything in a statement except nested statements."""
    stack: list[ast.AST] = [statement]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt))
