"""Heuristics: what a name, a condition or a text is assumed to mean if its definition is not available.

Everything else in lint decides by value. A row here decides by spelling and can be wrong, so each names the case in
tests/lint_cases that it was made for; a test disables the rows one by one and checks that this case changes. Most rows
only silence a rule: it says nothing if a word near the code suggests that the program may be right.
"""

from __future__ import annotations

import re

from ddpdoctor.model.record import record


@record(frozen=True, slots=True)
class Heuristic:
    """A row: `pattern` is searched in a text, `words` are whole names."""

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
