"""Pure. The command, the versions, what `watch` set; and what could not be seen."""

from __future__ import annotations

import shlex

from ddpdoctor.model.exhibit import Exhibit
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.report import Report
from ddpdoctor.report.code_frame import ranks_in_words
from ddpdoctor.report.html.element import Child, copied, element, section, table

_MOST_GAPS = 100


def drawn(exhibit: Exhibit) -> Child:
    """The section on the job's environment, None if nothing of it is known."""
    report = exhibit.report
    if not (report.command or report.versions or report.environment):
        return None
    command = shlex.join(report.command)
    versions = sorted(report.versions.items())
    torch = sorted(_backends(exhibit))
    return section(
        "environment",
        "Environment",
        element("h3", "Command") if command else None,
        element("pre", command, id="command", tabindex=0) if command else None,
        element("p", copied("command", "the command")) if command else None,
        table("Versions", ("what", "version"), [*versions, *torch]) if versions or torch else None,
        *_variables(report),
    )


def _backends(exhibit: Exhibit) -> set[tuple[str, str]]:
    pages = [seen.page for seen in exhibit.evidence.ranks if seen.page] if exhibit.evidence else []
    return {("backend", page.backend) for page in pages if page.backend}


def _variables(report: Report) -> list[Child]:
    if not report.environment:
        return []
    rows = [(element("code", name), *_value_and_why(said)) for name, said in sorted(report.environment.items())]
    head = ("variable", "value", "why")
    return [element("h3", "Set by ddpdoctor"), table("Variables that ddpdoctor set", head, rows)]


def _value_and_why(said: str) -> tuple[Child, Child]:
    value, _, why = said.partition(": ")
    return element("code", value), why


def blind(report: Report) -> Child:
    """What could not be seen, and the remarks on the capture; None if there is nothing to say."""
    found: dict[tuple[str, str, str], list[Rank]] = {}
    for gap in report.gaps:
        found.setdefault((gap.source.value, gap.reason, gap.remedy), []).extend([] if gap.rank is None else [gap.rank])
    rows = [
        (source, ranks_in_words(RankSet.of(ranks)) or "all", reason, remedy)
        for (source, reason, remedy), ranks in list(found.items())[:_MOST_GAPS]
    ]
    notes = [element("li", note) for note in report.notes]
    if not (rows or notes or report.not_considered):
        return None
    skipped = [
        element("li", element("code", code), f": {what}") for code, what in sorted(report.not_considered.items())
    ]
    unjudged = element("summary", f"Diagnoses that could not be considered ({len(skipped)})")
    return section(
        "blind",
        "Not seen",
        table("What could not be seen", ("what", "of", "why", "remedy"), rows) if rows else None,
        element("ul", *notes) if notes else None,
        element("details", unjudged, element("ul", *skipped)) if skipped else None,
        lead="What could not be collected. A verdict says how sure it is with this missing.",
    )
