"""Every fixture disguised, with rotated ranks and other world sizes, away from its fixture.toml: the same verdict."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from ddpdoctor.model.diagnosis import Deadlock
from ddpdoctor.repro.case import Case
from ddpdoctor.repro.catalogue import load_all, root
from tests.e2e.job import STARTUP, is_told, torchrun, watch
from tests.e2e.variants.disguise import disguise

CASES = [case for case in load_all(root()) if not case.needed and case.launcher == "torchrun" and case.harm is None]
TURNED = Path(__file__).with_name("turned.py")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_disguise_is_another_text(case: Case) -> None:
    source = case.broken.read_text()
    changed, line = disguise(source, case.line)
    assert '"""' not in changed
    assert changed.count("#") == 1 + sum(part.count("#") for part in _texts(changed))
    assert len(set(source.split()) & set(changed.split())) < len(set(source.split()))
    assert 0 < line <= len(changed.splitlines())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_verdict_is_the_same(case: Case, tmp_path: Path) -> None:
    _check(case, tmp_path)


@pytest.mark.parametrize("case", [case for case in CASES if case.elsewhere], ids=lambda case: case.name)
def test_the_verdict_is_the_same_with_more_or_fewer_ranks(case: Case, tmp_path: Path) -> None:
    _check(case, tmp_path, 4 if 4 in case.elsewhere else min(case.elsewhere))


def _check(case: Case, folder: Path, ranks: int = 0) -> None:
    ranks = ranks or case.ranks
    blamed = case.culprits_at(ranks)
    assert blamed is not None
    culprits = list(blamed)
    changed, line = disguise(case.broken.read_text(), case.line)
    program = folder / "job.py"
    program.write_text(changed)
    patience = [] if case.stall_after is None else ["--stall-after", str(case.stall_after)]
    run = watch(
        torchrun(TURNED, ranks, str(program)),
        folder / "run",
        *("--on-hang", "stop"),
        *patience,
        timeout=STARTUP + case.seconds,
        until=lambda report: is_told(report, case.outcome.value),
    )
    assert run.report["outcome"] == case.outcome.value, run.explain()
    assert case.allows_deadlock(Deadlock(run.report["deadlock"])), run.explain()
    assert run.first["code"] == case.code, run.explain()
    assert run.first["culprits"] == culprits, run.explain()
    sure = {d["code"] for d in run.report["diagnoses"] if d["confidence"] == "certain"}
    assert sure <= {case.code}, run.explain()
    locations = run.first["locations"] if culprits else [x for d in run.report["diagnoses"] for x in d["locations"]]
    named = {(location["file"], location["line"]) for location in locations[: 1 if culprits else None]}
    assert (str(program), line) in named, run.explain()


def _texts(source: str) -> list[str]:
    tree = ast.parse(source)
    return [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
