"""Figures of benchmarks: their spread and limits, the file that keeps them, and the page that shows them."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks import figures, hooks_away
from benchmarks.figures import Figure, Held, Origin, Row, Unit
from benchmarks.figures_page import Section, page

ORIGIN = Origin("abc123", "0123456789ab", "2026-11-24", 4.5, "2 cores of a machine", "Python 3.11, torch 2.13")
STEP = Figure("a step", 1.004, Unit.TIMES, 1.001, 1.008, figures.INTERVAL, "30 pairs", 1.01)


def limited(limit: float | None) -> Figure:
    return dataclasses.replace(STEP, limit=limit)


@pytest.mark.parametrize(
    ("limit", "held"), [(None, None), (1.008, Held.YES), (1.0079, Held.OPEN), (1.001, Held.OPEN), (1.0009, Held.NO)]
)
def test_a_limit_is_held_by_the_whole_spread_or_missed_by_the_whole(limit: float | None, held: Held | None) -> None:
    assert limited(limit).held is held


@pytest.mark.parametrize(
    ("unit", "value", "text"),
    [
        (Unit.TIMES, 1.00412, "1.0041"),
        (Unit.TIMES, 0.0431, "0.043"),
        (Unit.TIMES, 23.04, "23.0"),
        (Unit.SHARE, 0.0032, "0.320 %"),
        (Unit.SECONDS, 4.756, "4.76"),
        (Unit.MICROSECONDS, 243.2, "243"),
        (Unit.MEGABYTES, 36.4, "36"),
    ],
)
def test_a_number_has_the_digits_that_its_unit_needs(unit: Unit, value: float, text: str) -> None:
    assert unit.write(value) == text


def test_of_pairs_the_median_and_an_interval_that_holds_it() -> None:
    found = figures.paired("a step", [[1.0, 1.01, 1.02], [0.99, 1.0, 1.01]])
    assert (found.value, found.repetitions, found.spread) == (1.005, "2 launches, 6 pairs", figures.INTERVAL)
    assert 0.99 <= found.low <= found.value <= found.high <= 1.02


def test_of_a_few_runs_the_median_and_the_range() -> None:
    found = figures.repeated("a verdict", [5.0, 4.0, 4.5], Unit.SECONDS, 6.0)
    assert (found.value, found.low, found.high, found.repetitions) == (4.5, 4.0, 5.0, "3 runs")


def test_what_was_written_is_read(tmp_path: Path) -> None:
    rows = [Row("overhead/tiny", STEP, ORIGIN), Row("launch", limited(None), ORIGIN)]
    figures.append(tmp_path / "results" / "all.jsonl", rows[:1])
    figures.append(tmp_path / "results" / "all.jsonl", rows[1:])
    assert figures.read(tmp_path / "results" / "all.jsonl") == rows
    assert figures.read(tmp_path / "none.jsonl") == []


def test_of_each_benchmark_the_last_run_counts() -> None:
    again = dataclasses.replace(ORIGIN, load=1.0)
    other = dataclasses.replace(STEP, what="hooks")
    old = [Row("tiny", STEP, ORIGIN), Row("tiny", other, ORIGIN)]
    new = [Row("tiny", STEP, again)]
    aside = [Row("mnist", STEP, ORIGIN)]
    assert figures.newest([*old, *aside, *new]) == {"tiny": new, "mnist": aside}
    # the same day, the same load: what repeats a figure is another run
    assert figures.newest([*old, *old]) == {"tiny": old}


def test_the_page_begins_with_the_limits_that_are_not_held() -> None:
    missed, undecided = limited(1.0), dataclasses.replace(STEP, what="another", limit=1.005)
    rows = {"a": [Row("a", STEP, ORIGIN), Row("a", missed, ORIGIN)], "b": [Row("b", undecided, ORIGIN)]}
    text = page([Section("Steps", "What a step costs.", ("a", "b", "c"))], rows)
    head = text.partition("## Steps")[0]
    assert "Of 3 limits 1 are held." in head
    assert "Missed:\n\n- a, a step: 1.0040 times, 1.0010 to 1.0080 (95 %); limit 1.0000" in head
    assert "- b, another: 1.0040 times" in head
    assert "| a step | 1.0040 times | 1.0010 to 1.0080 (95 %) | 30 pairs | 1.0100: held | 4.5 |" in text
    assert "2026-11-24, commit abc123, 2 cores of a machine, Python 3.11, torch 2.13." in text
    assert "Not measured: c." in text


def test_every_benchmark_is_in_one_section_of_the_page() -> None:
    shown = [name for section in command.SECTIONS for name in section.benchmarks]
    assert sorted(shown) == sorted(one.name for one in command.BENCHMARKS)


def test_the_page_is_that_of_the_kept_figures() -> None:
    rows = figures.newest(figures.read(command.RESULTS))
    assert rows, "nothing was measured"
    assert command.PAGE.read_text(encoding="utf-8") == page(command.SECTIONS, rows)


def test_each_benchmark_depends_on_folders_that_are_there() -> None:
    package = Path(hooks_away.__file__).parents[1] / "ddpdoctor"
    assert [f for one in command.BENCHMARKS for f in one.folders if not (package / f).is_dir()] == []


def test_an_unknown_name_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["benchmarks", "overhead/none"])
    with pytest.raises(SystemExit):
        command.main()
    assert re.search(r"error: no benchmark overhead/none; there are launch, ", capsys.readouterr().err)
