"""What lint says of sends and receives is what gloo does with them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from ddpdoctor.lint import taint_comments
from ddpdoctor.lint.interpreter.analysis import Analysis
from ddpdoctor.lint.ranks.transfers import left
from ddpdoctor.program import indexing
from ddpdoctor.program import source as python_source
from ddpdoctor.program.project import Project
from tests.e2e.job import STARTUP, torchrun
from tests.e2e.transfer_programs import RANKS, program, source

PROGRAM = Path(__file__).parent / "programs" / "random_transfers.py"
#: half of these programs can never end
SEEDS = range(40)


@pytest.mark.slow
def test_who_waits_for_ever(tmp_path: Path) -> None:
    said = {seed: _said(source(seed)) for seed in SEEDS}
    (tmp_path / "programs").write_text(json.dumps([program(seed) for seed in SEEDS]), encoding="utf-8")
    subprocess.run(torchrun(PROGRAM, RANKS, str(tmp_path)), check=True, timeout=STARTUP + 6 * len(SEEDS))
    answers = [(tmp_path / str(rank)).read_text(encoding="utf-8") for rank in range(RANKS)]
    seen = {seed: {rank for rank in range(RANKS) if answers[rank][at] == "1"} for at, seed in enumerate(SEEDS)}
    assert said == seen
    assert 10 < sum(map(bool, seen.values())) < 30


def _said(text: str) -> set[int]:
    tree = python_source.parse(text)
    assert not isinstance(tree, python_source.Unreadable), tree
    module = indexing.build("/job/main.py", "main", text, tree)
    analysis = Analysis(module, Project(lambda _: None), taint_comments.Taints())
    analysis.run()
    (root,) = analysis.roots
    found = left(root.trace, whole=True)
    return {one.rank for one in found.waiting} if found is not None else set()
