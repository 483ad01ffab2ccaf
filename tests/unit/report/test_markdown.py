"""Markdown for an issue: text of the job never becomes markup, and every list is bounded."""

from __future__ import annotations

import re
from dataclasses import replace

from ddpdoctor.model.diagnosis import Location
from ddpdoctor.model.evidence import Gap, Source, SourceFile
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.report import RankStatus, StackNode
from ddpdoctor.model.stacks import Site
from ddpdoctor.report import markdown
from tests.golden.reports import REPORTS
from tests.unit.report import exhibits

HANG = REPORTS["hang-certain"]


def test_what_a_job_says_is_no_markup() -> None:
    hostile = "<img src=x> [a](http://b) **c** | d `e`\x1b[31m\nf"
    first = replace(HANG.diagnoses[0], summary=hostile)
    text = markdown.render(replace(HANG, diagnoses=(first,)))
    assert "<img" not in text.replace("\\<img", "")
    assert "[a](" not in text.replace("\\[a", "")
    assert "\x1b" not in text


def test_code_with_fences_stays_inside_its_fence() -> None:
    source = SourceFile("/a.py", 'x = """\n```\n<b>\n"""\n')
    place = Location(RankSet.of([0]), "/a.py", 3, "f", "<b>")
    first = replace(HANG.diagnoses[0], locations=(place,))
    text = markdown.render(replace(HANG, diagnoses=(first,), code={"/a.py": source}))
    assert "````python\n" in text
    assert text.count("````") == 2


def test_a_bar_in_source_does_not_end_a_cell() -> None:
    place = Location(RankSet.of([0]), "/a.py", 3, "f", "a | b")
    status = RankStatus(Rank(0), "waiting", "x | y", place, -1)
    row = next(
        line for line in markdown.render(replace(HANG, ranks=(status,))).splitlines() if line.startswith("| **0")
    )
    assert row.count(" | ") == 3


def test_everything_that_can_grow_is_cut() -> None:
    statuses = tuple(RankStatus(Rank(n), "waiting", f"op {n}", None, -1) for n in range(5000))
    gaps = tuple(Gap(Source.STACKS, Rank(n), f"reason {n}") for n in range(5000))
    stacks = tuple(StackNode(Site("/a.py", n, "f"), RankSet.of([n])) for n in range(5000))
    text = markdown.render(replace(HANG, ranks=statuses, gaps=gaps, stacks=stacks))
    assert text.count("\n") < 200
    assert "4976 more rows" in text
    assert "4988 more in the JSON report" in text


def test_a_changed_source_is_not_shown() -> None:
    text = markdown.render(REPORTS["hang-source-changed"])
    assert "the source was changed after the job started" in text


def test_nothing_that_a_process_chose_is_markup() -> None:
    """What stays after code blocks and spans and escaped characters are taken out is our own."""
    text = markdown.render(exhibits.hostile().report)
    assert "\x1b" not in text
    assert "\u202e" not in text
    prose = _outside_code(re.sub(r"^(`{3,}).*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL))
    assert set(re.findall(r"<[^>]*>", prose)) <= {"<details>", "<summary>", "</summary>", "</details>"}
    assert "**]|" not in prose


def _outside_code(text: str) -> str:
    """Without code spans and escaped characters, read from left to right as Markdown is."""
    outside = ""
    while text:
        ticks = re.match(r"`+", text)
        closed = re.search(rf"(?<!`){ticks[0]}(?!`)", text[ticks.end() :]) if ticks else None
        if text.startswith("\\"):
            text = text[2:]
        elif ticks and closed:
            text = text[ticks.end() + closed.end() :]
        else:
            outside, text = outside + text[0], text[1:]
    return outside
