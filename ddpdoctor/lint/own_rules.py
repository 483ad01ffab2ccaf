"""The rules of the engine itself: about comments, and about files of which nothing is known. They are always on."""

from __future__ import annotations

from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Severity

INEFFECTIVE = LintRule(
    "DD197",
    "ineffective-comment",
    Severity.WARNING,
    advice="write it as the message says, on the line that it is about",
)
UNUSED = LintRule("DD198", "unused-suppression", Severity.WARNING, advice="remove the comment")
#: a file that cannot be read as Python, of which nothing is known
UNREADABLE = LintRule(
    "DD199",
    "unreadable-source",
    Severity.WARNING,
    advice="mend what the message names, or exclude the file",
)
