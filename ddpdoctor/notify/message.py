"""Pure. A verdict in a few lines: for a chat, for Kubernetes, for a summary of a CI job."""

from __future__ import annotations

from typing import Any

from ddpdoctor.model.report import Report
from ddpdoctor.probe.redact import redacted, redacted_command
from ddpdoctor.report.terminal_text import Style
from ddpdoctor.report.wording import nothing_named

_STYLE = Style(color=False, unicode=True)
#: of each sentence; Slack cuts messages at 40,000 characters, and nobody reads as many
_MOST = 1200


def incident(report: Report, *, evidence: str = "") -> dict[str, Any]:
    """The payload for a verdict: `text`, as Slack's incoming webhooks and those of others take it, and the facts.

    `evidence` is the folder of the bundle.
    """
    first = next(iter(report.diagnoses), None)
    lines = [headline(report)]
    if first is not None:
        lines += [f"why: {_line(first.why)}", f"fix: {_line(first.fix)}"]
        lines += [f"at {_line(place.file)}:{place.line}" for place in first.locations[:1]]
    if report.command:
        lines.append(f"command: {_line(' '.join(redacted_command(report.command)))}")
    if evidence:
        lines.append(f"evidence: {_line(evidence)}")
    facts = {
        "event": "incident",
        "outcome": report.outcome.value,
        "deadlock": report.deadlock.value,
        "code": first.code if first else "",
        "name": first.name if first else "",
        "confidence": first.confidence.value if first else "",
        "culprits": str(first.culprits) if first else "",
        "summary": summary(report),
    }
    return {"text": _escaped("\n".join(lines)), "ddpdoctor": facts}


def recovery(report: Report, said: str) -> dict[str, Any]:
    """The payload for the end of an incident: the job goes on, or has come to its end."""
    first = next(iter(report.diagnoses), None)
    text = f"ddpdoctor: resolved - {said}. It was: {summary(report)}"
    facts = {"event": "recovery", "outcome": report.outcome.value, "code": first.code if first else ""}
    return {"text": _escaped(text), "ddpdoctor": facts}


def headline(report: Report) -> str:
    """`ddpdoctor: HANG - rank 3 ... [DD201 certain]`."""
    first = next(iter(report.diagnoses), None)
    tag = f" [{first.code} {first.confidence.value}]" if first else ""
    return f"ddpdoctor: {report.outcome.value.upper()} - {summary(report)}{tag}"


def summary(report: Report) -> str:
    """The verdict's sentence, redacted."""
    first = next(iter(report.diagnoses), None)
    return _line(first.summary if first else nothing_named(report.outcome))


def _line(text: str) -> str:
    return _STYLE.cut(_STYLE.line(redacted(text)), _MOST)


def _escaped(text: str) -> str:
    """Slack's three special characters: without this an exception's text could call a whole channel."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
