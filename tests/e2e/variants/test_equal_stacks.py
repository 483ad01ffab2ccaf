"""Eight causes with identical stacks and sequence numbers: distinguished or left open, never wrongly certain."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.e2e.job import STARTUP, Run, torchrun, watch

PROGRAM = Path(__file__).with_name("equal_stacks.py")
CAUSES = {
    "uneven": "DD201",
    "evaluate": "DD205",
    "stop": "DD206",
    "skip-forward": "DD207",
    "skip-backward": "DD207",
    "caught": "DD208",
    "branch": "DD209",
    "no-sync": "DD217",
}
POSITIONS = [(ranks, culprit) for ranks in (2, 3, 4) for culprit in range(ranks)]


def _run(cause: str, ranks: int, culprit: int, loader: str, folder: Path) -> Run:
    return _judged(
        torchrun(PROGRAM, ranks, cause, "--culprit", str(culprit), "--loader", loader), cause, culprit, folder
    )


def _judged(command: list[str], cause: str, culprit: int, folder: Path) -> Run:
    run = watch(command, folder, "--on-hang", "stop", timeout=STARTUP + 30)
    assert run.report["outcome"] == "hang", run.explain()
    assert run.report["deadlock"] == "proven", run.explain()
    for diagnosis in run.report["diagnoses"]:
        if diagnosis["confidence"] == "certain":
            assert diagnosis["code"] == CAUSES[cause], run.explain()
        if diagnosis["culprit_confidence"] == "certain":
            assert diagnosis["culprits"] == [culprit], run.explain()
    return run


@pytest.mark.parametrize(("ranks", "culprit"), POSITIONS)
@pytest.mark.parametrize("cause", sorted(CAUSES))
def test_plain_loop(cause: str, ranks: int, culprit: int, tmp_path: Path) -> None:
    run = _run(cause, ranks, culprit, "plain", tmp_path)
    assert run.first["code"] == CAUSES[cause], run.explain()
    # an exception that was caught left no trace of its own
    assert run.first["confidence"] == ("likely" if cause == "caught" else "certain"), run.explain()
    assert run.first["culprits"] == [culprit], run.explain()


@pytest.mark.parametrize("loader", ["generator", "accelerate"])
@pytest.mark.parametrize("cause", sorted(CAUSES))
def test_other_loaders(cause: str, loader: str, tmp_path: Path) -> None:
    if loader == "accelerate":
        pytest.importorskip("accelerate")
    run = _run(cause, 3, 1, loader, tmp_path)
    told = {run.first["code"]} if run.first["code"] != "DD299" else _stories(run)
    assert CAUSES[cause] in told, run.explain()
    assert run.first["culprits"] == [1], run.explain()


@pytest.mark.parametrize("cause", ["uneven", "stop", "skip-forward", "skip-backward", "caught"])
def test_sharded_model(cause: str, tmp_path: Path) -> None:
    """FSDP2 on the CPU: the divergence meets the all-gather of a forward, and there is no DDP."""
    run = _judged(torchrun(PROGRAM, 3, cause, "--wrap", "fsdp2"), cause, 1, tmp_path)
    assert run.first["code"] in (CAUSES[cause], "DD299" if cause == "skip-backward" else ""), run.explain()
    assert run.first["culprits"] == [1], run.explain()


@pytest.mark.parametrize("cause", sorted(CAUSES))
def test_without_a_launcher(cause: str, tmp_path: Path) -> None:
    run = _judged([sys.executable, str(PROGRAM), cause, "--spawn", "3"], cause, 1, tmp_path)
    assert run.first["code"] == CAUSES[cause], run.explain()
    assert run.first["culprits"] == [1], run.explain()


def _stories(run: Run) -> set[str]:
    """Codes of the causes between which an undecided verdict leaves the choice."""
    text = " ".join((run.first["why"], *run.first["evidence"]))
    return {code for code in CAUSES.values() if code in text}
