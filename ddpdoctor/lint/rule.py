"""What a lint rule says of itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ddpdoctor.lint.record import record
from ddpdoctor.model.finding import Finding, Severity

if TYPE_CHECKING:
    from ddpdoctor.lint.facts.facts import ModuleFacts


@record(frozen=True, slots=True)
class LintRule:
    """Metadata of one rule; hints are opt-in."""

    code: str
    name: str
    severity: Severity
    #: runtime diagnoses that this rule prevents
    diagnoses: tuple[str, ...] = ()
    #: words of which at least one must occur in the file for the rule to be worth running
    words: frozenset[str] = frozenset()


@record(frozen=True, slots=True)
class Registered:
    """A rule with its check and its page."""

    rule: LintRule
    check: Callable[[ModuleFacts], Iterator[Finding | None]]
    page: str
