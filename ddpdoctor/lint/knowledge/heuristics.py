"""Guesses from words: what a name, a condition or a text is taken to mean where nothing says what it does.

Everything else in lint decides by value. A row here decides by spelling, so it can be wrong, and each names the case in
tests/lint_cases that it was made for; a test switches the rows off one by one and looks whether that case notices.
Most rows only silence a rule: a word in reach that may make the program right is enough to say nothing.
"""

from __future__ import annotations

import re

from ddpdoctor.model.record import record


@record(frozen=True, slots=True)
class Heuristic:
    """A row: `pattern` is searched in a text, one of `words` is a whole name."""

    decides: str
    #: code and heading of the case in tests/lint_cases that changes without the row
    case: str
    pattern: re.Pattern[str] | None = None
    words: tuple[str, ...] = ()

    def found_in(self, text: str) -> bool:
        """Whether the pattern occurs in a text."""
        return self.pattern is not None and self.pattern.search(text) is not None


def _any_of(alternatives: str) -> re.Pattern[str]:
    return re.compile(alternatives, re.IGNORECASE)


WRITES_FILES = Heuristic(
    "a function of this name, given a path, makes something there",
    "",
    _any_of(
        r"^_?(save|write|dump|build|make|create|download|fetch|extract|prepare|preprocess|generate|export|process|store"
        r"|tar|unzip|untar|tokenize|retrieve|urlretrieve|to_(csv|json|parquet|pickle))"
    ),
)
