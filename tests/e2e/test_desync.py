"""A rank that shifts against the others is told while all still move; a healthy job, and a replaced batch, are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.job import STARTUP, Run, forked, watch

PROGRAM = Path(__file__).parent / "desyncs" / "training.py"
STREAM = PROGRAM.with_name("stream.py")
#: of a loop over a stream, and what looks like one of them and is none
STREAM_FAULTS = {
    "skip": (-1, "collectives"),
    "caught": (-1, "collectives"),
    "twice": (1, "collectives"),
    "averaged": (1, "collectives"),
    "keyed": (-1, "collectives"),
    "accumulated": (1, "turns"),
}
STREAM_HEALTHY = ("none", "other-line", "counted", "retried")
FAULTS = ("skip", "skip-backward", "swallowed", "extra", "metric", "no-sync", "second-model")
#: lines of `epochs`: the loop, and where rank 1 leaves it
_LINES = PROGRAM.read_text().splitlines()
BREAK = _LINES.index("                break") + 1
LOOP = next(n for n in range(BREAK, 0, -1) if _LINES[n - 1].endswith("in enumerate(loader):"))
#: seconds from the first shifted visit to the warning: seven visits and a reading, on a machine that does more
WITHIN = 3.0


def run(kind: str, ranks: int, folder: Path, action: str = "stop", program: Path = PROGRAM) -> Run:
    return watch(
        forked(program, ranks, "--kind", kind),
        folder,
        *("--on-desync", action),
        timeout=STARTUP + 60,
        until=lambda report: report["outcome"] == "hang",
    )


@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_with_a_silent_phase_is_told_before_the_hang(kind: str, tmp_path: Path) -> None:
    told = run(kind, 3, tmp_path)
    assert told.report["outcome"] == "desync", told.explain()
    assert told.status == 124, told.explain()
    assert told.first["culprits"] == [1], told.explain()
    assert told.first["confidence"] in ("likely", "possible"), told.explain()
    times = told.report["timeline"]
    assert times["reported"] - told.report["desync"]["since"] <= WITHIN, told.explain()


def test_threads_that_change_places_on_a_group_are_told(tmp_path: Path) -> None:
    told = run("threads", 3, tmp_path)
    assert told.report["outcome"] == "desync", told.explain()
    assert told.first["code"] == "DD222", told.explain()
    # whose threads seem to be in another order for a while is chance, on a busy machine above all
    assert told.first["culprits"] == [] or told.first["culprit_confidence"] == "possible", told.explain()
    assert {place["function"] for place in told.first["locations"]} <= {"metrics", "with_threads"}, told.explain()
    times = told.report["timeline"]
    assert times["reported"] - told.report["desync"]["since"] <= WITHIN, told.explain()


def test_a_rank_that_begins_its_loop_anew_is_told_before_the_hang_and_with_it(tmp_path: Path) -> None:
    """The hang itself shows neither the step nor the line any more."""
    told = run("left", 3, tmp_path, "report")
    warning, hang = told.reports[0], told.reports[-1]
    for report in (warning, hang):
        first = report["diagnoses"][0]
        assert (first["code"], first["culprits"], first["locations"][0]["line"]) == ("DD206", [1], BREAK), (
            told.explain()
        )
    assert (warning["outcome"], hang["outcome"]) == ("desync", "hang"), told.explain()
    assert any(f"rank 1 left the loop over the loader at training.py:{LOOP}" in note for note in hang["notes"])


@pytest.mark.parametrize("kind", ["shorter", "cut"])
def test_lengths_that_differ_are_a_hint(kind: str, tmp_path: Path) -> None:
    """Whether the loop is cut is not known, so it is no warning, and stops nothing."""
    told = run(kind, 3, tmp_path)
    assert [report["outcome"] for report in told.reports] == ["healthy" if kind == "cut" else "hang"], told.explain()
    (sign,) = (note for note in told.report["notes"] if note.startswith("early sign"))
    assert f"training.py:{LOOP} has 140 batches on rank 1, 150 batches on ranks 0,2" in sign, told.explain()


def test_with_two_ranks_the_shift_is_told_without_a_culprit(tmp_path: Path) -> None:
    told = run("skip", 2, tmp_path)
    assert told.report["outcome"] == "desync", told.explain()
    assert told.first["culprits"] == [], told.explain()
    assert told.first["confidence"] == "possible", told.explain()


@pytest.mark.parametrize("kind", ["none", "threads-by-turns", "replaced", "joined"])
def test_what_is_healthy_or_cannot_be_told_apart_is_silent(kind: str, tmp_path: Path) -> None:
    silent = run(kind, 3, tmp_path)
    assert silent.status == 0, silent.explain()
    assert all(report["outcome"] == "healthy" for report in silent.reports), silent.explain()


@pytest.mark.parametrize("kind", STREAM_FAULTS)
def test_a_turn_of_a_loop_over_a_stream_is_told_by_the_loops_counter(kind: str, tmp_path: Path) -> None:
    told = run(kind, 3, tmp_path, program=STREAM)
    assert told.report["outcome"] == "desync", told.explain()
    assert told.first["culprits"] == [1], told.explain()
    shown = told.report["desync"]
    assert (shown["shift"], shown["counted"]) == STREAM_FAULTS[kind], told.explain()
    same = "at the same collective of" if shown["counted"] == "turns" else "in the same turn of"
    assert f"{same} the loop at stream.py:" in told.first["summary"], told.explain()
    assert told.first["confidence"] in ("likely", "possible"), told.explain()


@pytest.mark.parametrize("kind", STREAM_HEALTHY)
def test_what_leaves_ranks_in_step_over_a_stream_is_silent(kind: str, tmp_path: Path) -> None:
    silent = run(kind, 3, tmp_path, program=STREAM)
    assert silent.status == 0, silent.explain()
    assert all(report["outcome"] == "healthy" for report in silent.reports), silent.explain()
