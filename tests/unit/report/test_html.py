"""The page: whole without a browser's help, and free of what a job chose to be called."""

from __future__ import annotations

import time
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from ddpdoctor.model.diagnosis import Location
from ddpdoctor.model.evidence import Gap, Source
from ddpdoctor.model.exhibit import Edge, Exhibit
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.report import RankStatus, StackNode
from ddpdoctor.model.stacks import Site
from ddpdoctor.report.html import page, wait_graph
from ddpdoctor.report.html.element import element, prose, text
from tests.golden.reports import REPORTS
from tests.unit.report import exhibits

_VOID = {"meta", "link", "input", "br"}


class _Reader(HTMLParser):
    """The page's elements with their text; every element must be closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value) for name, value in attrs]
        self.attributes.append((tag, "", None))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def tags(self) -> list[str]:
        return [tag for tag, name, _ in self.attributes if not name]


def _read(markup: str) -> _Reader:
    reader = _Reader()
    reader.feed(markup)
    reader.close()
    assert reader.open == []
    return reader


EXHIBITS = {
    **{name: Exhibit(report) for name, report in REPORTS.items()},
    "alone in a barrier": exhibits.alone_in_a_barrier(),
    "ring": exhibits.in_a_ring(),
    "healthy with events": exhibits.healthy(),
    "hostile": exhibits.hostile(),
}


@pytest.mark.parametrize("name", EXHIBITS)
def test_the_page_is_whole_and_asks_for_nothing(name: str) -> None:
    read = _read(page.render(EXHIBITS[name]))
    assert not {"iframe", "object", "embed", "img", "base"} & set(read.tags)
    assert read.tags.count("script") == read.tags.count("style") == 1
    addresses = {value for _, attribute, value in read.attributes if attribute in ("src", "href")}
    assert all(value is not None and value.startswith(("#", "data:,")) for value in addresses)
    assert not [attribute for _, attribute, _ in read.attributes if attribute.startswith("on") or attribute == "style"]
    names = [value for _, attribute, value in read.attributes if attribute == "id"]
    assert len(names) == len(set(names))
    assert {value for _, a, value in read.attributes if a in ("aria-labelledby", "data-copy", "for")} <= set(names)
    assert {value[1:] for value in addresses if value and value.startswith("#")} <= set(names)


def test_what_a_job_says_stays_text() -> None:
    markup = page.render(exhibits.hostile())
    read = _read(markup)
    assert "alert(1)</script>" not in markup
    assert "<img" not in markup
    assert "\x1b" not in markup
    assert "\u202e" not in markup
    assert "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&" in "".join(read.texts)
    # rank labels, paths, functions, threads, groups, variables, exceptions and the command are all shown
    assert markup.count("&lt;script&gt;alert(1)") > 40


def test_text_is_escaped_and_markup_is_not_escaped_twice() -> None:
    inner = element("b", "<&>")
    assert element("p", inner, "\u202e\x1b[1m<", title='"') == '<p title="&quot;"><b>&lt;&amp;&gt;</b>&lt;</p>'
    assert prose("call `f(<x>)` now") == "call <code>f(&lt;x&gt;)</code> now"
    assert prose("one ` only") == "one ` only"
    assert text(text("<")) == "&lt;"


def test_the_circle_is_marked() -> None:
    found = wait_graph.graph(exhibits.in_a_ring(3))
    assert found is not None
    assert found.core == {0, 1, 2}
    assert set(found.arrows) == {(0, 1), (1, 2), (2, 0)}
    assert "the circle of ranks 0-2" in page.render(exhibits.in_a_ring(3))


def test_the_sink_is_marked_and_a_circle_that_waits_for_it_is_not() -> None:
    waits = {0: [1], 1: [0, 2], 3: [2]}
    edges = tuple(Edge(Rank(rank), RankSet.of(targets)) for rank, targets in waits.items())
    found = wait_graph.graph(replace(exhibits.alone_in_a_barrier(), edges=edges))
    assert found is not None
    assert [str(found.nodes[number].ranks) for number in found.core] == ["2"]


def test_ranks_that_wait_for_the_same_are_one_box() -> None:
    found = wait_graph.graph(exhibits.alone_in_a_barrier(8))
    assert found is not None
    assert [str(node.ranks) for node in found.nodes] == ["0", "1-7"]


def test_the_parting_is_drawn_where_the_verdict_is() -> None:
    markup = page.render(exhibits.alone_in_a_barrier())
    assert "rank 0 parted here" in markup
    assert "[parts] barrier seq 7 train.py:6" in markup


def test_thousands_of_ranks_make_a_small_page_quickly() -> None:
    """Those that do the same are one row, one lane, one box; and what differs on every rank is cut."""
    many = range(4096)
    statuses = tuple(
        RankStatus(Rank(n), "waiting", f"op {n}", Location(RankSet.of([n]), "/a.py", n + 1, "f"), -1) for n in many
    )
    gaps = tuple(Gap(Source.STACKS, Rank(n), f"reason {n}") for n in many)
    stacks = tuple(StackNode(Site("/a.py", n, "f"), RankSet.of([n])) for n in many)
    ring = tuple(Edge(Rank(n), RankSet.of([(n + 1) % 4096])) for n in many)
    report = replace(REPORTS["hang-certain"], ranks=statuses, gaps=gaps, stacks=stacks)
    begun = time.process_time()
    markup = page.render(Exhibit(report, edges=ring))
    assert time.process_time() - begun < 5
    assert len(markup) < 400_000
    _read(markup)


def test_a_large_job_of_two_kinds_is_two_lanes_and_two_boxes() -> None:
    shown = exhibits.alone_in_a_barrier(200)
    markup = page.render(shown)
    assert "ranks 1-199 (199)" in markup
    assert "Of 200 ranks 128 were compared" in markup
    assert len(markup) < 80_000
    found = wait_graph.graph(shown)
    assert found is not None
    assert [str(node.ranks) for node in found.nodes] == ["0", "1-127"]
    assert found.core == {0, 1}
