"""A part of a job that can never go on is proven while the rest moves; a part that only waits long is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.job import STARTUP, forked, watch

PROGRAMS = Path(__file__).parent / "parts"
#: program -> ranks of the part
PARTS = {
    "two_groups": {0, 1},
    "busy_world": {2, 3},
    "helper_thread": {0, 1, 2, 3},
    "pipeline_stage": {0, 1},
    "evaluation_group": {2, 3},
    "two_models": {0, 1},
}
#: seconds after the last progress of the part: standing, two readings, and a look
WITHIN = 12.0


def test_the_list_is_whole() -> None:
    assert set(PARTS) == {path.stem for path in PROGRAMS.glob("*.py")}


@pytest.mark.parametrize("name", PARTS)
def test_a_part_is_proven_while_the_rest_moves(name: str, tmp_path: Path) -> None:
    run = watch(
        forked(PROGRAMS / f"{name}.py", 4),
        tmp_path,
        *("--stall-after", "60"),
        timeout=STARTUP + 60,
        until=lambda report: report["deadlock"] == "proven",
    )
    assert run.report["deadlock"] == "proven", run.explain()
    waiting = {rank["rank"] for rank in run.report["ranks"] if rank["state"] == "waiting"}
    assert PARTS[name] <= waiting, run.explain()
    if PARTS[name] < {0, 1, 2, 3}:
        assert any(note.startswith("a part of the job") for note in run.report["notes"]), run.explain()
    assert set(run.first["culprits"]) | set(run.first["waiting"]) <= PARTS[name], run.explain()


@pytest.mark.parametrize("name", PARTS)
def test_a_part_that_waits_long_is_left_alone(name: str, tmp_path: Path) -> None:
    run = watch(forked(PROGRAMS / f"{name}.py", 4, "--healthy"), tmp_path, "--stall-after", "60", timeout=STARTUP + 60)
    assert run.status == 0, run.explain()
    assert all(report["outcome"] == "healthy" for report in run.reports), run.explain()
