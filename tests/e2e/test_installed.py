"""Cases from an ordinary installation, where they are among the installed packages, like users' trainers."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a fresh environment with ddpdoctor's wheel in it; torch and the others are borrowed."""
    folder = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    _run([*pip, "wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT)])
    _run([sys.executable, "-m", "venv", "--without-pip", str(folder / "env")])
    (wheel,) = folder.glob("*.whl")
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder / "env")}))
    _run([*pip, "install", "--no-deps", "--no-index", "--target", str(packages), str(wheel)])
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib"))
    (folder / "env" / "bin" / "py-spy").symlink_to(Path(sysconfig.get_path("scripts")) / "py-spy")
    return folder / "env" / "bin" / "python"


def test_the_installed_one_is_run(python: Path, tmp_path: Path) -> None:
    command = [str(python), "-c", "import ddpdoctor; print(ddpdoctor.__file__)"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "site-packages" in done.stdout
    assert str(ROOT) not in done.stdout


@pytest.mark.parametrize("name", ["skipped-batch", "data-worker-stuck", "teardown-hang"])
def test_a_case_behaves_as_expected(name: str, python: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [python, "-m", "ddpdoctor", "repro", "run", name, "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (result,) = json.loads(done.stdout)
    assert "site-packages" in result["report"]["diagnoses"][0]["locations"][0]["file"]


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=900)
