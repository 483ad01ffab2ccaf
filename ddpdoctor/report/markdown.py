"""Pure. A Report as Markdown for an issue: verdict, ranks, the line, reasons, what could not be seen."""

from __future__ import annotations

import re

from ddpdoctor.model.diagnosis import Deadlock, Diagnosis, Location
from ddpdoctor.model.ranks import RankSet
from ddpdoctor.model.report import Report, StackNode
from ddpdoctor.report import rank_rows
from ddpdoctor.report.code_frame import ranks_in_words
from ddpdoctor.report.paths import short
from ddpdoctor.report.terminal_text import Style
from ddpdoctor.report.wording import again_in_words, nothing_named

#: rows, locations, stacks and gaps that are shown; the JSON report contains all
_MOST_ROWS = 24
_MOST_LOCATIONS = 4
_MOST_STACK_LINES = 60
_MOST_GAPS = 12
_AROUND = 3

_STYLE = Style(color=False, unicode=True)
_MARKS = re.compile(r"([\\`*_{}\[\]<>#|~])")
_LANGUAGES = {".py": "python"}


def render(report: Report, *, directory: str = "") -> str:
    """The report as GitHub Markdown. Paths under `directory` are shown relative to it. Ends with a newline."""
    first = report.diagnoses[0] if report.diagnoses else None
    blocks = [_head(report, first), _ranks(report, first)]
    if first is not None:
        blocks += [_place(report, location, directory) for location in _shown(first)]
        blocks += [_traceback(first), _reasons(report, first), _also(report)]
    blocks += [_stacks(report, directory), _blind(report), _notes(report), _versions(report)]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _head(report: Report, first: Diagnosis | None) -> str:
    said = _text(first.summary if first else nothing_named(report.outcome))
    code = f" `{first.code}` {first.name}, {first.confidence.value}" if first else ""
    return f"### ddpdoctor: {report.outcome.value.upper()}\n\n**{said}**{code}"


def _ranks(report: Report, first: Diagnosis | None) -> str:
    culprits = first.culprits if first else RankSet()
    rows = rank_rows.merge(report.ranks, culprits)
    if not rows:
        return ""
    lines = ["| ranks | state | where | in |", "|---|---|---|---|"]
    for row in rows[:_MOST_ROWS]:
        guilty = "**" if any(rank in culprits for rank in row.ranks) else ""
        where = f"{_code(row.place)} {_code(row.source)}".strip() if row.place else ""
        ranks = f"{guilty}{row.ranks}{guilty} ({len(row.ranks)}){_cell(row.where and ' ' + row.where)}"
        lines.append(f"| {ranks} | {_text(row.state)} | {_cell(where)} | {_text(row.label)} |")
    if len(rows) > _MOST_ROWS:
        lines.append(f"| and {len(rows) - _MOST_ROWS} more rows | | | |")
    return "\n".join(lines)


def _shown(diagnosis: Diagnosis) -> tuple[Location, ...]:
    return diagnosis.locations[:_MOST_LOCATIONS]


def _place(report: Report, location: Location, directory: str) -> str:
    """The line and those around it, marked by an arrow."""
    ranks = f" ({ranks_in_words(location.ranks)})" if len(location.ranks) else ""
    head = f"{_code(f'{short(location.file, directory)}:{location.line}')} in {_code(location.function)}{ranks}"
    source = report.code.get(location.file)
    if source is not None and source.changed:
        return f"{head}: the source was changed after the job started"
    text = source.text.split("\n") if source else []
    at = location.line - source.first if source else 0
    if not 0 <= at < len(text):
        return f"{head}\n\n{_fenced(location.source, location.file)}" if location.source.strip() else head
    first = max(0, at - _AROUND)
    lines = [f"{'>' if number == at else ' '} {text[number]}" for number in range(first, min(len(text), at + 2))]
    return f"{head}\n\n{_fenced(chr(10).join(lines), location.file)}"


def _traceback(diagnosis: Diagnosis) -> str:
    if not diagnosis.traceback.strip():
        return ""
    lines = diagnosis.traceback.rstrip().split("\n")[-_MOST_STACK_LINES:]
    return f"{ranks_in_words(diagnosis.culprits) or 'it'} raised\n\n{_fenced(chr(10).join(lines), '')}"


def _reasons(report: Report, diagnosis: Diagnosis) -> str:
    deadlock = {Deadlock.PROVEN: ", deadlock proven", Deadlock.SUSPECTED: ", deadlock suspected", Deadlock.NO: ""}
    sure = f"{diagnosis.confidence.value}{deadlock[report.deadlock]}"
    if diagnosis.culprit_confidence is not diagnosis.confidence and len(diagnosis.culprits):
        sure += f"; blame: {diagnosis.culprit_confidence.value}"
    again = again_in_words(report.outcome, diagnosis)
    sure += f"; {again}" if again else ""
    lines = [f"- **why**: {_text(diagnosis.why)}", f"- **fix**: {_text(diagnosis.fix)}", f"- **sure?** {sure}"]
    lines += [f"  - {_text(fact)}" for fact in diagnosis.evidence]
    lines += [f"- `ddpdoctor lint` reports this line as {finding.code}" for finding in diagnosis.lint[:1]]
    return "\n".join(lines)


def _also(report: Report) -> str:
    others = report.diagnoses[1:4]
    return "\n".join(f"- also `{other.code}` {other.confidence.value}: {_text(other.summary)}" for other in others)


def _stacks(report: Report, directory: str) -> str:
    lines: list[str] = []
    for node in report.stacks:
        _tree(node, 0, lines, directory)
    if not lines:
        return ""
    cut = [*lines[:_MOST_STACK_LINES], f"... {len(lines) - _MOST_STACK_LINES} more lines"]
    shown = lines if len(lines) <= _MOST_STACK_LINES else cut
    return f"<details><summary>stacks, merged</summary>\n\n{_fenced(chr(10).join(shown), '')}\n\n</details>"


def _tree(node: StackNode, depth: int, lines: list[str], directory: str) -> None:
    if len(lines) > 4 * _MOST_STACK_LINES:
        return
    site = node.site
    indent = "  " * min(depth, 12)
    place = f"{short(site.file, directory)}:{site.line}"
    lines.append(f"{indent}{_STYLE.line(site.function)} ({_STYLE.line(place)})  {ranks_in_words(node.ranks)}")
    for child in node.children:
        _tree(child, depth + (len(node.children) > 1), lines, directory)


def _blind(report: Report) -> str:
    said: dict[tuple[str, str, str], list[int]] = {}
    for gap in report.gaps:
        said.setdefault((gap.source.value, gap.reason, gap.remedy), []).extend([] if gap.rank is None else [gap.rank])
    lines = []
    for (source, reason, remedy), ranks in list(said.items())[:_MOST_GAPS]:
        whose = f" of {ranks_in_words(RankSet.of(ranks))}" if ranks else ""
        lines.append(f"- {source}{whose}: {_text(reason)}{f' ({_text(remedy)})' if remedy else ''}")
    if len(said) > _MOST_GAPS:
        lines.append(f"- {len(said) - _MOST_GAPS} more in the JSON report")
    return "**Not seen**\n\n" + "\n".join(lines) if lines else ""


def _notes(report: Report) -> str:
    return "\n".join(f"- {_text(note)}" for note in report.notes)


def _versions(report: Report) -> str:
    return ", ".join(f"{_text(name)} {_text(version)}" for name, version in sorted(report.versions.items()))


def _text(text: str) -> str:
    """One line of prose without markup."""
    return _MARKS.sub(r"\\\1", _STYLE.line(text))


def _code(text: str) -> str:
    """An inline code span, delimited by more backticks than it contains in a row."""
    clean = _STYLE.line(text)
    if not clean:
        return ""
    runs = [len(run) for run in re.findall(r"`+", clean)]
    ticks = "`" * (max(runs, default=0) + 1)
    pad = " " if clean.startswith("`") or clean.endswith("`") else ""
    return f"{ticks}{pad}{clean}{pad}{ticks}"


def _cell(text: str) -> str:
    """Inside a table a vertical bar ends the cell, also in code."""
    return text.replace("|", "\\|")


def _fenced(text: str, file: str) -> str:
    clean = "\n".join(_STYLE.clean(line) for line in text.split("\n"))
    runs = [len(run) for run in re.findall(r"`{3,}", clean)]
    fence = "`" * max(3, max(runs, default=0) + 1)
    language = next((name for suffix, name in _LANGUAGES.items() if file.endswith(suffix)), "")
    return f"{fence}{language}\n{clean}\n{fence}"
