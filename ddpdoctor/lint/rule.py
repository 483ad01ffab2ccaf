"""The metadata of a lint rule."""

from __future__ import annotations

from ddpdoctor.model.finding import Severity
from ddpdoctor.model.record import record


@record(frozen=True, slots=True)
class LintRule:
    """Metadata of one rule; hints are opt-in."""

    code: str
    name: str
    #: as a rule; where it is a hint, the rule tells nothing but hints
    severity: Severity
    #: runtime diagnoses that this rule prevents
    diagnoses: tuple[str, ...] = ()
    #: words of which at least one must occur in the file for the rule to run
    words: frozenset[str] = frozenset()
    #: what to do, in a few words
    advice: str = ""

    def told(self, severity: Severity) -> Severity:
        """The severity of a finding that would be of this one, if first looks had not shown the rule to be a hint."""
        return Severity.HINT if self.severity is Severity.HINT else severity
