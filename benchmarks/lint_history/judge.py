"""Whether a case was told before its fix and is silent after it, and whether a trap is silent. Pure."""

from __future__ import annotations

import ast
import dataclasses
import difflib
import warnings
from collections.abc import Iterable, Mapping, Sequence

from benchmarks.lint_history.cases import Fix, Trap
from benchmarks.lint_history.linting import Told

#: lines by which a finding may be off its place
NEAR = 3


@dataclasses.dataclass(frozen=True, slots=True)
class Judged:
    """What lint did with one fix."""

    #: told at the place before the fix, and less often after it
    found: bool
    #: the same with what lint reports by default, so without hints
    found_by_default: bool
    #: nothing is told at the place after the fix
    silent: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """Some lines of a file, and the functions (or statements of the module) that contain them."""

    path: str
    lines: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]

    def is_near(self, told: Told) -> bool:
        """Whether one of the finding's places is at these lines."""
        return any(path == self.path and self._close(line) for path, line in told.places)

    def is_around(self, told: Told) -> bool:
        """Whether one of the finding's places is at these lines or in the same function."""
        return self.is_near(told) or any(
            path == self.path and first <= line <= last for path, line in told.places for first, last in self.spans
        )

    def _close(self, line: int) -> bool:
        return any(abs(line - mine) <= NEAR for mine in self.lines)


@dataclasses.dataclass(frozen=True, slots=True)
class Revision:
    """A commit as lint saw it: the texts of the files that a fix is about, by path, and the findings in them."""

    texts: Mapping[str, str]
    findings: tuple[Told, ...]


def judge(fix: Fix, before: Revision, after: Revision) -> Judged:
    """Judge a fix by the commit before it and by its own. A file that is not in `after` was deleted by the fix."""
    place = place_of(fix.path, before.texts[fix.path], fix.lines)
    others = [Place(path, (int(line),), ()) for path, _, line in (one.rpartition(":") for one in fix.elsewhere)]
    told_before = _at(fix, before, place, others)
    later = place_of(fix.path, after.texts.get(fix.path, ""), _moved_lines(place, before, after))
    told_after = _at(fix, after, later, [Place(one.path, _moved_lines(one, before, after), ()) for one in others])
    return Judged(
        found=len(told_before) > len(told_after),
        found_by_default=sum(told.by_default for told in told_before) > sum(told.by_default for told in told_after),
        # what else the function does wrong, before and after, is no business of this fix
        silent=not any(later.is_near(told) for told in told_after) and len(told_after) <= len(told_before),
    )


def _at(fix: Fix, revision: Revision, place: Place, others: list[Place]) -> list[Told]:
    """The findings of the fix's rules at its place, or near one of its others."""
    return [
        told
        for told in revision.findings
        if told.code in fix.rules and (place.is_around(told) or any(other.is_near(told) for other in others))
    ]


def _moved_lines(place: Place, before: Revision, after: Revision) -> tuple[int, ...]:
    if place.path not in before.texts or place.path not in after.texts:
        return ()
    return moved(before.texts[place.path], after.texts[place.path], place.lines)


def is_silent(trap: Trap, findings: Iterable[Told]) -> bool:
    """Whether lint reports none of the trap's rules at its line. Hints, which somebody asked for, do not count."""
    place = Place(trap.path, (trap.line,), ())
    return not any(told.code in trap.rules and told.by_default and place.is_near(told) for told in findings)


def place_of(path: str, text: str, lines: tuple[int, ...]) -> Place:
    """The lines, with the innermost functions that contain them; a statement of the module where there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what old sources do in strings
            body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError):  # Python 2, for example
        body = []
    return Place(path, lines, tuple(span for line in lines if (span := _span(body, line)) is not None))


def _span(body: list[ast.stmt], line: int) -> tuple[int, int] | None:
    """First and last line of the innermost function around a line, or of the statement of the module."""
    for statement in body:
        last = statement.end_lineno or statement.lineno
        if not statement.lineno <= line <= last:
            continue
        functions = [
            (node.lineno, node.end_lineno or node.lineno)
            for node in ast.walk(statement)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        around = [(first, end) for first, end in functions if first <= line <= end]
        return max(around, default=None if isinstance(statement, ast.ClassDef) else (statement.lineno, last))
    return None


def moved(before: str, after: str, lines: tuple[int, ...]) -> tuple[int, ...]:
    """Where lines went: the same line if it is still there, otherwise where it was."""
    matcher = difflib.SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    blocks = matcher.get_opcodes()
    return tuple(_moved(blocks, line - 1) + 1 for line in lines)


def _moved(blocks: Sequence[tuple[str, int, int, int, int]], index: int) -> int:
    for _, first, last, new_first, new_last in blocks:
        if first <= index < last:
            return min(new_first + index - first, max(new_last - 1, new_first))
    return index
