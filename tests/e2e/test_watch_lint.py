"""`watch --lint` prints lint's findings and never delays the job; a diagnosis cites lint's finding."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ddpdoctor.cli import background_lint
from ddpdoctor.repro.catalogue import load, root
from tests.e2e.job import STARTUP, torchrun, watch

WATCH = [sys.executable, "-m", "ddpdoctor", "watch"]
BROKEN = """import sys
import torch.distributed as dist


def main():
    print("the job ran", flush=True)
    if dist.get_rank() == 0:
        dist.barrier()
    sys.exit(7)


main()
"""


def _watch(folder: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*WATCH, *argv], cwd=folder, capture_output=True, text=True, timeout=STARTUP, check=False)


@pytest.mark.parametrize("name", ["rank-conditional-collective", "uneven-inputs"])
def test_a_diagnosis_cites_the_finding_at_its_line(name: str, tmp_path: Path) -> None:
    case = load(root() / name)
    run = watch(
        torchrun(case.broken, case.ranks), tmp_path, "--on-hang", "stop", "--lint", timeout=STARTUP + case.seconds
    )
    assert [finding["code"] for finding in run.first["lint"]] == [case.lint], run.explain()
    assert run.stderr.count(f"{case.lint} ") >= 1, run.stderr
    told = " ".join(run.stderr.split())
    assert f"`ddpdoctor lint` reports this line as {case.lint}." in told or (
        f"finds it before the launch: {case.lint} at broken.py:" in told
    )
    assert "--lint: the findings above are in" in run.stderr
    assert run.stderr.index("--lint: the findings above") < run.stderr.index("ddpdoctor: HANG")


def test_findings_are_told_before_the_job_which_runs_and_keeps_its_status(tmp_path: Path) -> None:
    (tmp_path / "torch" / "distributed").mkdir(parents=True)
    (tmp_path / "torch" / "__init__.py").write_text("")
    (tmp_path / "torch" / "distributed" / "__init__.py").write_text("def get_rank():\n    return 1\n")
    (tmp_path / "train.py").write_text(BROKEN)
    done = _watch(tmp_path, "--lint", "--quiet", "--", sys.executable, "train.py")
    assert (done.returncode, done.stdout) == (7, "the job ran\n")
    assert "DD111 collective-under-rank-branch (error)" in done.stderr
    assert " --> train.py:8:9" in done.stderr
    assert "ddpdoctor: --lint: the findings above are in train.py; the job continues" in done.stderr


def test_a_command_line_without_a_script_is_said(tmp_path: Path) -> None:
    done = _watch(tmp_path, "--lint", "--", sys.executable, "-c", "print('ran')")
    assert (done.returncode, done.stdout) == (0, "ran\n")
    assert "--lint: the command line names no Python file" in done.stderr


def test_a_clean_script_and_a_failure_of_lint_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print('ran')\n")
    done = _watch(tmp_path, "--lint", "--", sys.executable, "train.py")
    assert (done.returncode, done.stdout) == (0, "ran\n")
    assert "ddpdoctor: --lint: no findings in train.py" in done.stderr
    assert "--lint" not in _watch(tmp_path, "--lint", "--quiet", "--", sys.executable, "train.py").stderr
    (tmp_path / "pyproject.toml").write_text("[tool.ddpdoctor.lint]\nselct = []\n")
    done = _watch(tmp_path, "--lint", "--", sys.executable, "train.py")
    assert (done.returncode, done.stdout) == (0, "ran\n")
    (said,) = [line for line in done.stderr.splitlines() if "--lint" in line]
    assert "--lint: failed with status 2: " in said
    assert "selct" in said


def test_modules_beside_the_script_are_not_run_by_lint(tmp_path: Path) -> None:
    for name in ("ast", "tokenize", "select", "json"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('run by lint')\n")
    (tmp_path / "train.py").write_text(
        "import torch.distributed as dist\nif dist.get_rank() == 0:\n    dist.barrier()\n"
    )
    watch = [sys.executable, "-c", background_lint._PROGRAM, "watch", "--lint", "--", sys.executable, "train.py"]
    done = subprocess.run(watch, cwd=tmp_path, capture_output=True, text=True, timeout=STARTUP, check=False)
    assert "DD111 collective-under-rank-branch (error)" in done.stderr
