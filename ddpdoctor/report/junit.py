"""Pure. A Report as JUnit XML: one test case, which fails unless the job is healthy."""

from __future__ import annotations

import shlex
from xml.sax.saxutils import escape, quoteattr

from ddpdoctor.model.diagnosis import Outcome
from ddpdoctor.model.report import Report
from ddpdoctor.report import terminal
from ddpdoctor.report.terminal_text import Screen, Style
from ddpdoctor.report.wording import nothing_named

_SCREEN = Screen(width=100)
_STYLE = Style(color=False, unicode=True)


def render(report: Report, *, directory: str = "") -> str:
    """One document with the screen as the failure's text."""
    first = next(iter(report.diagnoses), None)
    fails = int(report.outcome is not Outcome.HEALTHY)
    name = _STYLE.line(shlex.join(report.command)) or "distributed job"
    seconds = f' time="{report.timeline.reported:.3f}"' if report.timeline.reported is not None else ""
    case = f'<testcase name={quoteattr(name)} classname="ddpdoctor.{report.outcome.value}"{seconds}'
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuites name="ddpdoctor" tests="1" failures="{fails}" errors="0">',
        f'  <testsuite name="ddpdoctor" tests="1" failures="{fails}" errors="0"{seconds}>',
    ]
    if fails:
        said = _STYLE.line(first.summary if first else nothing_named(report.outcome))
        kind = f"{first.code} {first.name}" if first else report.outcome.value
        text = escape(terminal.render(report, _SCREEN, directory=directory).strip("\n"))
        lines += [
            f"    {case}>",
            f"      <failure message={quoteattr(said)} type={quoteattr(kind)}>{text}</failure>",
            "    </testcase>",
        ]
    else:
        lines.append(f"    {case}/>")
    return "\n".join([*lines, "  </testsuite>", "</testsuites>"]) + "\n"
