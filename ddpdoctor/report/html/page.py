"""Pure. An Exhibit as one HTML file: opens from disk without a network, and is readable without JavaScript."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable

from ddpdoctor.model.exhibit import Exhibit
from ddpdoctor.model.report import Report
from ddpdoctor.report import markdown
from ddpdoctor.report.html import collectives, environment, processes, stacks, strip, verdict, wait_graph
from ddpdoctor.report.html.element import Child, Markup, copied, element, joined, raw, section
from ddpdoctor.report.html.script import SCRIPT
from ddpdoctor.report.html.style import STYLE
from ddpdoctor.report.wording import nothing_named

#: section -> its name in the list of contents
_CONTENTS = {
    "verdict": "Verdict",
    "time": "Last seconds",
    "waits": "Who waits",
    "stacks": "Stacks",
    "groups": "Collectives",
    "processes": "Processes",
    "environment": "Environment",
    "blind": "Not seen",
    "issue": "For an issue",
}


def render(exhibit: Exhibit, *, directory: str = "") -> str:
    """The page. Paths under `directory` are shown relative to it."""
    report = exhibit.report
    made: dict[str, Child] = {
        "verdict": verdict.section(report, directory),
        "time": strip.drawn(exhibit),
        "waits": wait_graph.drawn(exhibit),
        "stacks": stacks.drawn(exhibit, directory),
        "groups": collectives.drawn(exhibit),
        "processes": processes.drawn(exhibit),
        "environment": environment.drawn(exhibit),
        "blind": environment.blind(report),
        "issue": _issue(report, directory),
    }
    shown = {name: part for name, part in made.items() if part is not None}
    body = element(
        "body",
        element("a", "Skip to the verdict", href="#main", class_="skip"),
        verdict.heading(report),
        _contents(shown),
        element("main", *shown.values(), id="main", tabindex=-1),
        element("footer", element("p", _origin(report))),
        element("p", id="said", class_="unseen", role="status"),
        raw("script", SCRIPT),
    )
    return f"<!doctype html>\n{element('html', _head(report), body, lang='en')}\n"


def _head(report: Report) -> Markup:
    first = next(iter(report.diagnoses), None)
    said = first.summary if first else nothing_named(report.outcome)
    policy = (
        f"default-src 'none'; img-src data:; style-src '{_digest(STYLE)}'; script-src '{_digest(SCRIPT)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", f"{report.outcome.value.upper()}: {said}"),
        # without it a browser asks the server for one
        element("link", rel="icon", href="data:,"),
        raw("style", STYLE),
    )


def _digest(content: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"


def _contents(shown: Iterable[str]) -> Markup:
    links = [element("li", element("a", _CONTENTS[name], href=f"#{name}")) for name in shown]
    return element("nav", element("ul", *links, tabindex=0), aria_label="Contents")


def _issue(report: Report, directory: str) -> Markup:
    """The summary that is pasted into an issue or a chat."""
    text = element("pre", markdown.render(report, directory=directory), id="markdown", tabindex=0)
    return section(
        "issue",
        "For an issue",
        element("p", copied("markdown", "the summary as Markdown")),
        element("details", element("summary", "The verdict as Markdown"), text),
        lead="The verdict as Markdown, to paste into an issue or a pull request.",
    )


def _origin(report: Report) -> Markup:
    version = report.versions.get("ddpdoctor", "")
    return joined(
        ("Made by ddpdoctor", f" {version}" if version else None, ". This file loads nothing from elsewhere.")
    )
