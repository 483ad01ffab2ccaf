"""Pure. A Report as one screen: verdict, ranks, the line, why, what to change, what could not be seen."""

from __future__ import annotations

from dataclasses import dataclass

from ddpdoctor.model.diagnosis import Confidence, Deadlock, Diagnosis, Location, Outcome
from ddpdoctor.model.evidence import Gap
from ddpdoctor.model.finding import Finding
from ddpdoctor.model.ranks import RankSet
from ddpdoctor.model.record import replace
from ddpdoctor.model.report import Report
from ddpdoctor.report import rank_rows
from ddpdoctor.report.code_frame import code_frame, ranks_in_words
from ddpdoctor.report.paths import short
from ddpdoctor.report.terminal_text import Screen, Style, Tint, columns, pad
from ddpdoctor.report.wording import again_in_words, nothing_named, waited_in_words

#: lines of a screen: a verdict should be readable without scrolling
MOST_LINES = 25
#: lines of a narrow screen, where the same text wraps
_MOST_NARROW_LINES = 34
_WIDE = 90
_NARROWEST = 40
_LABEL = 8
_TINTS = {
    Outcome.HANG: Tint.ALARM,
    Outcome.CRASH: Tint.ALARM,
    Outcome.SLOW: Tint.WARN,
    Outcome.DESYNC: Tint.WARN,
    Outcome.HEALTHY: Tint.GOOD,
}


@dataclass(frozen=True, slots=True)
class _Detail:
    """How much detail is shown; reduced if the screen would overflow."""

    rows: int
    before: int
    facts: int
    traceback: int
    blind: int
    airy: bool


_DETAILS = (
    _Detail(rows=6, before=2, facts=3, traceback=6, blind=3, airy=True),
    _Detail(rows=5, before=2, facts=2, traceback=5, blind=2, airy=True),
    _Detail(rows=4, before=2, facts=1, traceback=4, blind=1, airy=True),
    _Detail(rows=3, before=1, facts=1, traceback=3, blind=1, airy=True),
    _Detail(rows=3, before=2, facts=1, traceback=3, blind=1, airy=False),
    _Detail(rows=3, before=1, facts=0, traceback=2, blind=1, airy=False),
)


def render(report: Report, screen: Screen, *, job: str = "", bundle: str = "", directory: str = "") -> str:
    """The report as text of at most the screen's width, and of at most 25 lines at a width of 100.

    `job` says what became of the job, `bundle` where the evidence is; paths under `directory`, the reader's working
    directory, are shown relative to it. Ends with a newline.
    """
    most = MOST_LINES if screen.width >= _WIDE else _MOST_NARROW_LINES
    page = _TextPage(report, replace(screen, width=max(screen.width, _NARROWEST)), job, bundle, directory)
    for detail in _DETAILS:
        lines = page.lines(detail)
        if len(lines) <= most:
            break
    return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class _TextPage:
    report: Report
    screen: Screen
    job: str
    bundle: str
    directory: str

    @property
    def width(self) -> int:
        return self.screen.width

    @property
    def style(self) -> Style:
        return self.screen.style

    def lines(self, detail: _Detail) -> list[str]:
        first = self.report.diagnoses[0] if self.report.diagnoses else None
        blocks = [self._verdict(first), self._rows(first, detail)]
        if first is not None:
            blocks.append(self._frames(first, detail))
            blocks.append(self._traceback(first, detail))
            blocks.append([*self._reasons(first, detail), *self._blind(detail), *self._also()])
        else:
            blocks.append([*self._unexplained(), *self._blind(detail)])
        blocks.append([*self._times(), *self._waits(), *self._notes(), *self._tail(first)])
        blocks = [block for block in blocks if block]
        joined: list[str] = []
        for i, block in enumerate(blocks):
            joined.extend([""] if i and detail.airy else [])
            joined.extend(block)
        return joined

    def _verdict(self, first: Diagnosis | None) -> list[str]:
        outcome = self.report.outcome
        summary = self.style.line(first.summary if first else nothing_named(outcome))
        tag = f"[{first.code} {first.confidence.value}]" if first else ""
        head = f"ddpdoctor: {outcome.value.upper()} - "
        lines = self.style.wrap(head + summary, self.width)
        room = self.width - columns(lines[-1]) - columns(tag) - 2
        if tag and room >= 0:
            lines[-1] = f"{lines[-1]}{' ' * (room + 2)}{self._tag(tag)}"
        elif tag:
            lines.append(f"{' ' * (self.width - columns(tag))}{self._tag(tag)}")
        word = outcome.value.upper()
        lines[0] = lines[0].replace(word, self.style.paint(word, _TINTS[outcome]), 1)
        return lines

    def _tag(self, tag: str) -> str:
        return self.style.paint(tag, Tint.CODE)

    def _rows(self, first: Diagnosis | None, detail: _Detail) -> list[str]:
        culprits = first.culprits if first else RankSet()
        rows = rank_rows.merge(self.report.ranks, culprits)
        return rank_rows.table(rows, culprits, most=detail.rows, width=self.width, style=self.style)

    def _frames(self, diagnosis: Diagnosis, detail: _Detail) -> list[str]:
        """The line to look at; if no culprit is certain, the two lines of which one is at fault."""
        named = len(diagnosis.culprits) > 0 and diagnosis.confidence is not Confidence.POSSIBLE
        shown = diagnosis.locations[: 1 if named else 2]
        before = detail.before if len(shown) == 1 else min(detail.before, 1)
        return [line for location in shown for line in self._frame(location, before)]

    def _frame(self, location: Location, before: int) -> list[str]:
        source = self.report.code.get(location.file)
        path = short(location.file, self.directory)
        return code_frame(location, source, self.screen, shown_path=path, before=before)

    def _traceback(self, diagnosis: Diagnosis, detail: _Detail) -> list[str]:
        """The last lines of the culprit's traceback."""
        text = [line.rstrip() for line in self.style.clean(diagnosis.traceback).split("\n") if line.strip()]
        if not text:
            return []
        shown = _whole_frames(text[-detail.traceback :])
        lead = f"  {ranks_in_words(diagnosis.culprits) or 'it'} raised"
        return [lead, *(f"    {self.style.bar} {self.style.cut(line, self.width - 7)}" for line in shown)]

    def _reasons(self, diagnosis: Diagnosis, detail: _Detail) -> list[str]:
        lint = "".join(f"  {self._foreseen(diagnosis, finding)}" for finding in diagnosis.lint[:1])
        return [
            *self._labelled("why", diagnosis.why),
            *self._labelled("fix", diagnosis.fix + lint),
            *self._labelled("sure?", self._surety(diagnosis, detail)),
        ]

    def _foreseen(self, diagnosis: Diagnosis, finding: Finding) -> str:
        """A reference to the lint finding of the same fault."""
        for place in diagnosis.locations[:1]:
            if place.file == finding.file and finding.line <= place.line <= max(finding.line, finding.end_line):
                return f"`ddpdoctor lint` reports this line as {finding.code}."
        where = f"{self.style.line(finding.file.rpartition('/')[2])}:{finding.line}"
        return f"`ddpdoctor lint` finds it before the launch: {finding.code} at {where}."

    def _surety(self, diagnosis: Diagnosis, detail: _Detail) -> str:
        deadlock = {Deadlock.PROVEN: "deadlock proven", Deadlock.SUSPECTED: "deadlock suspected", Deadlock.NO: ""}
        parts = [f"{diagnosis.confidence.value}", deadlock[self.report.deadlock]]
        if diagnosis.culprit_confidence is not diagnosis.confidence and len(diagnosis.culprits):
            parts.append(f"blame of {ranks_in_words(diagnosis.culprits)} {diagnosis.culprit_confidence.value}")
        said = ", ".join(filter(None, parts))
        again = again_in_words(self.report.outcome, diagnosis)
        said += f"; {again}" if again else ""
        facts = "; ".join(fact.rstrip().rstrip(".") for fact in diagnosis.evidence[: detail.facts])
        if facts.partition(" ")[0].isalpha():  # a path or a name in the program keeps its spelling
            facts = facts[0].upper() + facts[1:]
        return f"{said}. {facts}." if facts else f"{said}."

    def _unexplained(self) -> list[str]:
        missing = "; ".join(f"{code}: {what}" for code, what in list(self.report.not_considered.items())[:3])
        return self._labelled("unsure", f"could not be considered: {missing}") if missing else []

    def _blind(self, detail: _Detail) -> list[str]:
        """What could not be seen, with equal reasons of several ranks combined."""
        gathered: dict[tuple[str, str, str], list[Gap]] = {}
        for gap in self.report.gaps:
            gathered.setdefault((gap.source.value, gap.reason, gap.remedy), []).append(gap)
        said: list[str] = []
        for (source, reason, remedy), gaps in list(gathered.items())[: detail.blind]:
            ranks = ranks_in_words(RankSet.of(gap.rank for gap in gaps if gap.rank is not None))
            said.append(f"{source}{f' of {ranks}' if ranks else ''}: {reason}{f' ({remedy})' if remedy else ''}")
        if len(gathered) > detail.blind:
            said.append(f"{len(gathered) - detail.blind} more in the JSON report")
        return self._labelled("blind", "; ".join(said)) if said else []

    def _also(self) -> list[str]:
        lines: list[str] = []
        for other in self.report.diagnoses[1:4]:
            text = f"{other.code} {other.confidence.value}: {self.style.line(other.summary)}"
            label = self.style.paint(pad("  also", _LABEL + 1), Tint.LABEL)
            lines.append(label + self.style.cut(text, self.width - _LABEL - 1))
        return lines

    def _times(self) -> list[str]:
        times = self.report.timeline
        named = (
            ("last progress", times.last_progress),
            ("detected", times.detected),
            ("reported", times.reported),
        )
        said = ", ".join(f"{name} at {seconds:.1f} s" for name, seconds in named if seconds is not None)
        if said and times.last_progress is not None and times.reported is not None:
            said += f" ({times.reported - times.last_progress:.1f} s later)"
        return self._labelled("times", said) if said else []

    def _waits(self) -> list[str]:
        said = waited_in_words(self.report.waited)
        return self._labelled("waits", said) if said else []

    def _notes(self) -> list[str]:
        return [line for note in self.report.notes for line in self._labelled("note", note)]

    def _tail(self, first: Diagnosis | None) -> list[str]:
        explain = f"ddpdoctor explain {first.code}" if first else ""
        parts = [self.job, f"evidence: {self.bundle}" if self.bundle else "", explain]
        return _flow([self.style.line(part) for part in parts if part], self.width)

    def _labelled(self, label: str, text: str) -> list[str]:
        """`  why    text`, the text wrapped beside its label."""
        lines = self.style.wrap(text, self.width - _LABEL - 1)
        heads = [self.style.paint(pad(f"  {label}", _LABEL + 1), Tint.LABEL), *[" " * (_LABEL + 1)] * len(lines)]
        return [head + line for head, line in zip(heads, lines, strict=False)]


def _whole_frames(traceback: list[str]) -> list[str]:
    """Drop the rest of a frame whose `File` line was cut off; lines of an exception have no frame before them."""
    starts = [i for i, line in enumerate(traceback) if line.startswith("  File ")]
    return traceback[starts[0] :] if starts else [line for line in traceback if not line.startswith("    ")]


def _flow(parts: list[str], width: int) -> list[str]:
    """Parts side by side, two blanks apart, or below each other if they do not fit; a part is never broken, as it may
    be a path."""
    lines: list[str] = []
    for part in parts:
        joined = f"{lines[-1]}  {part}" if lines else ""
        if joined and columns(joined) <= width:
            lines[-1] = joined
        else:
            lines.append(f"  {part}")
    return lines
