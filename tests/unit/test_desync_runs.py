"""Programs with a silent phase: what was told before the hang, and whether it was the same at the hang."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks import desync_runs
from benchmarks.first_runs import Expected
from tests.e2e.job import Run


def program(outcome: str = "desync") -> Expected:
    places = (("train.py", 7),)
    return Expected(Path("a"), "torch", "torchrun", 3, (), outcome, ("DD207",), (1,), places, False, 60.0)


def report(outcome: str, culprits: list[int], **more: Any) -> dict[str, Any]:
    found = {"code": "DD207", "confidence": "likely", "culprits": culprits}
    return {
        "outcome": outcome,
        "diagnoses": [{**found, "locations": [{"file": "/a/train.py", "line": 7}]}],
        "notes": [],
        **more,
    }


def run(*reports: dict[str, Any], status: int | None = None) -> Run:
    return Run(status, reports, "", "", 1.0, Path("bundle"), ())


def warning(after: float, culprits: list[int]) -> dict[str, Any]:
    return report("desync", culprits, timeline={"reported": 10.0 + after}, desync={"since": 10.0})


def test_all_is_right() -> None:
    found = desync_runs.judge(program(), run(warning(0.5, [1]), report("hang", [1])))
    assert found.right == ("told", "prompt", "culprits", "line", "same")
    assert (found.after, found.end) == (0.5, "hang DD207 [1]")


@pytest.mark.parametrize(
    ("said", "culprits"),
    [
        (
            "rank 1 left the loop over the loader at train.py:7 before its end and began it anew, and ranks 0,2 go on",
            [1],
        ),
        ("the loader at train.py:7 has 140 batches on rank 1, 150 batches on ranks 0,2-3", [1]),
        ("the loader at train.py:7 has 140 batches on rank 0, 150 batches on rank 1", []),
    ],
)
def test_an_early_sign_counts_with_its_line_and_the_fewest_ranks_that_it_names(said: str, culprits: list[int]) -> None:
    note = f"early sign since 4.0 s, told 5.5 s after the start: {said}: unless it is cut, they will wait for ever"
    found = desync_runs.judge(program(), run(report("hang", culprits, notes=[note])))
    assert (found.after, found.culprits, found.code) == (1.5, tuple(culprits), "sign")
    assert set(found.right) == {"told", "prompt", "line", "same"} | ({"culprits"} if culprits == [1] else set())


@pytest.mark.parametrize(
    ("reports", "lacks"),
    [
        ((warning(9.0, [1]), report("hang", [1])), {"prompt"}),
        ((warning(0.5, [2]), report("hang", [1])), {"culprits", "same"}),
        ((warning(0.5, [1]), report("hang", [2])), {"same"}),
        ((warning(0.5, [1]),), {"same"}),
        ((report("hang", [1]),), {"told", "prompt", "culprits", "line", "same"}),
    ],
)
def test_what_is_not_right(reports: tuple[dict[str, Any], ...], lacks: set[str]) -> None:
    found = desync_runs.judge(program(), run(*reports))
    assert {"told", "prompt", "culprits", "line", "same"} - set(found.right) == lacks


def test_a_healthy_program_is_to_be_silent() -> None:
    assert desync_runs.judge(program("healthy"), run(status=0)).right == ("silent",)
    assert desync_runs.judge(program("healthy"), run(warning(1.0, [1]), status=0)).right == ()
