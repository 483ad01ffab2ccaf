"""Pure. The first section: what is wrong, where, why, what to change."""

from __future__ import annotations

from collections.abc import Sequence

from ddpdoctor.model.diagnosis import Deadlock, Diagnosis, Location
from ddpdoctor.model.evidence import SourceFile
from ddpdoctor.model.finding import Finding
from ddpdoctor.model.ranks import RankSet
from ddpdoctor.model.report import Report
from ddpdoctor.report import rank_rows
from ddpdoctor.report.code_frame import CHANGED, ranks_in_words
from ddpdoctor.report.html.element import Child, Markup, copied, element, joined, prose, table
from ddpdoctor.report.paths import short
from ddpdoctor.report.wording import again_in_words, nothing_named

#: rows, those of them that are not folded, locations, and lines of source around a location
_MOST_ROWS, _MOST_STANDING = 60, 12
_MOST_LOCATIONS = 6
_BEFORE, _AFTER = 4, 2
_DEADLOCK = {Deadlock.PROVEN: "deadlock proven", Deadlock.SUSPECTED: "deadlock suspected", Deadlock.NO: ""}


def heading(report: Report) -> Markup:
    """The page's header: the outcome, the code, how sure, the sentence, and when."""
    first = next(iter(report.diagnoses), None)
    badges = [element("li", report.outcome.value.upper(), class_="outcome")]
    if first:
        badges.append(element("li", element("code", first.code), f" {first.name}"))
        badges.append(element("li", first.confidence.value))
    if _DEADLOCK[report.deadlock]:
        badges.append(element("li", _DEADLOCK[report.deadlock]))
    return element(
        "header",
        element("ul", *badges, class_="badges"),
        element("h1", prose(first.summary if first else nothing_named(report.outcome))),
        element("p", _times(report), class_="times"),
        class_=report.outcome.value,
    )


def _times(report: Report) -> str:
    times = report.timeline
    named = (("last progress", times.last_progress), ("detected", times.detected), ("reported", times.reported))
    said = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in named if seconds is not None)
    return f"{said} after the start" if said else ""


def section(report: Report, directory: str) -> Markup:
    """Ranks, code, reasons and the other diagnoses."""
    first = next(iter(report.diagnoses), None)
    title = element("h2", "Verdict", class_="unseen", id="verdict-title")
    children = [_ranks(report, first), *_places(report, first, directory), _reasons(report, first), _others(report)]
    return element("section", title, *children, id="verdict", aria_labelledby="verdict-title")


def _ranks(report: Report, first: Diagnosis | None) -> Child:
    culprits = first.culprits if first else RankSet()
    rows = rank_rows.merge(report.ranks, culprits)
    if not rows:
        return None
    # the culprits' rows come first here: on a long page they are what is looked for
    ordered = sorted(rows, key=lambda row: len(row.ranks - culprits) == len(row.ranks))
    shown, folded = ordered[:_MOST_STANDING], ordered[_MOST_STANDING:_MOST_ROWS]
    made = [_rank_table("What each rank is doing", shown, culprits)]
    if folded:
        summary = element("summary", f"{len(folded)} more places")
        made.append(element("details", summary, _rank_table("What the other ranks are doing", folded, culprits)))
    left = sum(len(row.ranks) for row in ordered[_MOST_ROWS:])
    if left:
        made.append(element("p", f"and {left} more ranks in {len(rows) - _MOST_ROWS} other places", class_="lead"))
    return joined(made)


def _rank_table(caption: str, rows: Sequence[rank_rows.RankRow], culprits: RankSet) -> Markup:
    cells = [
        (
            " ".join(filter(None, (f"{ranks_in_words(row.ranks)} ({len(row.ranks)})", row.where))),
            row.state,
            row.label,
            _code(row.place),
            _code(row.source),
        )
        for row in rows
    ]
    blamed = [number for number, row in enumerate(rows) if len(row.ranks - culprits) < len(row.ranks)]
    return table(caption, ("ranks", "state", "in", "at", "line"), cells, marked=blamed)


def _code(text: str) -> Child:
    return element("code", text) if text else ""


def _places(report: Report, first: Diagnosis | None, directory: str) -> list[Child]:
    """Code frames: the first one stands, the others unfold. The traceback of the culprit last."""
    if first is None:
        return []
    frames = [
        _frame(place, report.code.get(place.file), directory, number)
        for number, place in enumerate(first.locations[:_MOST_LOCATIONS])
    ]
    made: list[Child] = [element("h3", "Where") if frames else None, *frames[:1]]
    if frames[1:]:
        count = f"{len(frames) - 1} more {'places' if len(frames) > 2 else 'place'}"
        made.append(element("details", element("summary", count), *frames[1:]))
    if first.traceback.strip():
        made.append(element("h3", f"What {ranks_in_words(first.culprits) or 'it'} raised"))
        made.append(element("pre", first.traceback.rstrip(), id="traceback", tabindex=0))
        made.append(element("p", copied("traceback", "the traceback")))
    return made


def _frame(place: Location, source: SourceFile | None, directory: str, number: int) -> Markup:
    identity = f"place-{number}"
    where = element("code", f"{short(place.file, directory)}:{place.line}", id=identity)
    ranks = ranks_in_words(place.ranks)
    caption = element(
        "figcaption",
        where,
        element("span", f"in {place.function}", class_="count") if place.function else None,
        element("strong", ranks) if ranks else None,
        copied(identity, "the path and line"),
    )
    if source is not None and source.changed:
        return element("figure", caption, element("p", CHANGED))
    lines = _lines(place, source)
    return element("figure", caption, element("pre", *lines, class_="frame", tabindex=0) if lines else None)


def _lines(place: Location, source: SourceFile | None) -> list[Markup]:
    text = source.text.split("\n") if source else []
    at = place.line - source.first if source else 0
    if not 0 <= at < len(text) or not text[at].strip():
        return [_line(place.line, place.source, here=True)] if place.source.strip() else []
    first, last = max(0, at - _BEFORE), min(len(text), at + _AFTER + 1)
    while first < at and not text[first].strip():
        first += 1
    while not text[last - 1].strip():
        last -= 1
    indents = [len(line) - len(line.lstrip()) for line in text[first:last] if line.strip()]
    margin = min(indents, default=0)
    return [_line(place.line - at + n, text[n][margin:], here=n == at) for n in range(first, last)]


def _line(number: int, source: str, *, here: bool) -> Markup:
    arrow = element("span", ">" if here else " ", class_="arrow" if here else None)
    gutter = element("span", f"{number:>5}  ", class_="n")
    line = joined((arrow, gutter, source.rstrip()))
    return joined((element("span", line, class_="here") if here else line, "\n"))


def _reasons(report: Report, first: Diagnosis | None) -> Child:
    if first is None:
        missing = [f"{code}: {what}" for code, what in report.not_considered.items()]
        return element("p", f"Could not be considered: {'; '.join(missing)}", class_="lead") if missing else None
    facts = [element("li", prose(fact)) for fact in first.evidence]
    return element(
        "dl",
        *_term("why", prose(first.why)),
        *_term("fix", prose(first.fix), *(_foreseen(finding) for finding in first.lint[:2])),
        *_term("sure?", _surety(report, first), element("ul", *facts) if facts else None),
        *_term("more", element("code", f"ddpdoctor explain {first.code}", id="explain"), " ", copied("explain", "it")),
        class_="why",
    )


def _term(name: str, *said: Child) -> tuple[Markup, Markup]:
    return element("dt", name), element("dd", *said)


def _foreseen(finding: Finding) -> Markup:
    where = f"{finding.file.rpartition('/')[2]}:{finding.line}"
    return joined((" ", element("code", "ddpdoctor lint"), f" finds it before the launch: {finding.code} at {where}."))


def _surety(report: Report, first: Diagnosis) -> str:
    parts = [first.confidence.value, _DEADLOCK[report.deadlock]]
    if first.culprit_confidence is not first.confidence and len(first.culprits):
        parts.append(f"blame of {ranks_in_words(first.culprits)} {first.culprit_confidence.value}")
    again = again_in_words(report.outcome, first)
    return "; ".join(filter(None, (", ".join(filter(None, parts)), again))) + "."


def _others(report: Report) -> Child:
    others = report.diagnoses[1:]
    if not others:
        return None
    items = [
        element("li", element("code", other.code), f" {other.confidence.value}: ", prose(other.summary))
        for other in others
    ]
    return joined((element("h3", "Also possible"), element("ul", *items)))
