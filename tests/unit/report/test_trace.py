"""The trace: the rules of the format, and tracks and arrows of known jobs."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from ddpdoctor.model.exhibit import Exhibit
from ddpdoctor.report import trace
from tests.golden.reports import REPORTS
from tests.unit.report import exhibits

_NEEDED = {
    "X": {"name", "ts", "dur", "pid", "tid"},
    "M": {"name", "pid", "args"},
    "i": {"name", "ts", "pid", "tid", "s"},
}


def _events(shown: Exhibit) -> list[dict[str, Any]]:
    loaded = json.loads(trace.render(shown))
    assert loaded["displayTimeUnit"] == "ms"
    events: list[dict[str, Any]] = loaded["traceEvents"]
    return events


def _check(events: list[dict[str, Any]]) -> None:
    """The rules of the format, as far as we use it."""
    assert {event["ph"] for event in events} <= {"X", "M", "i", "s", "t", "f"}
    for event in events:
        assert _NEEDED.get(event["ph"], {"name", "ts", "pid", "tid", "id", "cat"}) <= set(event)
        assert event.get("ts", 0) >= 0
        assert event.get("dur", 0) >= 0
    slices = [event for event in events if event["ph"] == "X"]
    named = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    assert {(event["pid"], event["tid"]) for event in slices} <= named
    assert {pid for pid, _ in named} <= {e["pid"] for e in events if e["name"] == "process_name"}
    _check_no_overlap(slices)
    _check_flows(events, slices)


def _check_no_overlap(slices: list[dict[str, Any]]) -> None:
    by_track: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for one in slices:
        by_track.setdefault((one["pid"], one["tid"]), []).append(one)
    for track in by_track.values():
        ordered = sorted(track, key=lambda one: one["ts"])
        for before, after in itertools.pairwise(ordered):
            assert before["ts"] + before["dur"] <= after["ts"] + 1e-2


def _check_flows(events: list[dict[str, Any]], slices: list[dict[str, Any]]) -> None:
    begins = {(one["pid"], one["tid"], one["ts"]) for one in slices}
    flows: dict[int, list[dict[str, Any]]] = {}
    for event in events:
        if event["ph"] in "stf":
            flows.setdefault(event["id"], []).append(event)
    for flow in flows.values():
        phases = Counter(event["ph"] for event in flow)
        assert (phases["s"], phases["f"]) == (1, 1)
        assert len({(event["name"], event["cat"]) for event in flow}) == 1
        assert [event["ts"] for event in flow] == sorted(event["ts"] for event in flow)
        assert [flow[0]["ph"], flow[-1]["ph"]] == ["s", "f"]
        assert len({event["pid"] for event in flow}) == len(flow)
        # an arrow is bound to the slice that begins there
        assert {(event["pid"], event["tid"], event["ts"]) for event in flow} <= begins


@pytest.mark.parametrize(
    "shown",
    [exhibits.alone_in_a_barrier(), exhibits.in_a_ring(), exhibits.healthy(), exhibits.hostile()],
    ids=["hang", "ring", "healthy", "hostile"],
)
def test_the_rules_of_the_format_hold(shown: Exhibit) -> None:
    _check(_events(shown))


def test_a_healthy_job_has_an_arrow_for_each_operation_and_all_of_its_members() -> None:
    events = _events(exhibits.healthy(3))
    flows = Counter((event["id"], event["name"]) for event in events if event["ph"] in "stf")
    assert sorted((name, count) for (_, name), count in flows.items()) == [("all_reduce", 3), ("barrier", 3)]
    assert [e["args"]["name"] for e in events if e["name"] == "process_name"] == ["rank 0", "rank 1", "rank 2"]
    assert {e["args"]["name"] for e in events if e["name"] == "thread_name"} == {"training thread"}


def test_no_arrow_leads_past_the_parting_and_the_parting_is_marked() -> None:
    shown = exhibits.alone_in_a_barrier()
    events = _events(shown)
    assert not [event for event in events if event["ph"] in "stf"]
    marks = [event for event in events if event["ph"] == "i"]
    assert [m["pid"] for m in marks if m["name"] == "parted from the others here"] == [0, 1, 2, 3]
    verdict = next(mark for mark in marks if mark["s"] == "g")
    assert verdict["name"].startswith("DD203: only rank 0 calls barrier")
    barrier = [e for e in events if e["ph"] == "X" and e["name"] == "barrier"]
    # it lasts until the capture, which is 98 s after the first event
    assert [(e["pid"], round(e["ts"] + e["dur"])) for e in barrier] == [(0, 98_000_000)]


def test_rings_that_lost_their_oldest_events_are_aligned_by_time() -> None:
    shown = exhibits.healthy(2)
    assert shown.evidence is not None
    first, second = shown.evidence.ranks
    assert first.page is not None
    cut = replace(first, page=replace(first.page, events=first.page.events[13:], events_lost=13))
    events = _events(replace(shown, evidence=replace(shown.evidence, ranks=(cut, second))))
    _check(events)
    assert [event["name"] for event in events if event["ph"] == "s"] == ["all_reduce"]


def test_a_report_without_evidence_is_an_empty_trace() -> None:
    assert _events(Exhibit(REPORTS["healthy"])) == []
