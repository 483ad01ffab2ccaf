"""The cache of lint: when an entry counts, and where it is."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

import ddpdoctor
from ddpdoctor.lint import cache, engine, linter, registry
from ddpdoctor.lint.cache import Cache, Entry
from ddpdoctor.lint.deferred import confirmations
from ddpdoctor.lint.file_result import FileResult
from ddpdoctor.lint.grounds import Grounds
from ddpdoctor.lint.settings import Settings
from tests.unit.lint.command import BROKEN, PROGRAM, lint

SETTINGS = Settings(registry.defaults())
ROLES = "import torch.distributed as dist\n\ndef is_main():\n    return dist.get_rank() == 0\n"
TRAIN = """import torch.distributed as dist
from roles import is_main

def main():
    if is_main():
        dist.barrier()
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of two files as the working directory, and a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    project = tmp_path / "project"
    project.mkdir()
    (project / "train.py").write_text(TRAIN)
    (project / "roles.py").write_text(ROLES)
    monkeypatch.chdir(project)
    return project


def opened(settings: Settings = SETTINGS) -> Cache:
    found = cache.opened(settings)
    assert found is not None
    return found


def codes(settings: Settings = SETTINGS) -> list[str]:
    return [f.code for f in engine.lint(["."], settings, cache=opened(settings)).findings]


def analysed(run: Callable[[], object] = codes) -> list[str]:
    """The files that a run analyses."""
    seen: list[str] = []
    analyse = linter.Linter.file

    def file(self: linter.Linter, path: str, *, named: bool) -> FileResult:
        seen.append(path)
        return analyse(self, path, named=named)

    with mock.patch.object(linter.Linter, "file", file):
        run()
    return seen


def test_a_second_run_analyses_nothing_and_finds_the_same() -> None:
    first = engine.lint(["."], SETTINGS, cache=opened())
    assert [f.code for f in first.findings] == ["DD111"]
    assert analysed() == []
    assert engine.lint(["."], SETTINGS, cache=opened()) == first


def test_what_an_edited_module_gives_is_analysed_again() -> None:
    assert codes() == ["DD111"]
    Path("roles.py").write_text("def is_main():\n    return True\n")
    assert codes() == []
    assert analysed() == []


def test_a_file_that_takes_the_place_of_an_imported_one_is_noticed() -> None:
    Path("roles.py").unlink()
    Path("pyproject.toml").touch()
    assert codes() == []
    Path("src").mkdir()
    Path("src/roles.py").write_text(ROLES)
    assert codes() == ["DD111"]


def test_a_module_of_no_file_is_noticed_once_it_is_written() -> None:
    Path("roles.py").unlink()
    assert codes() == []
    Path("roles").mkdir()
    Path("roles/__init__.py").write_text(ROLES)
    assert codes() == ["DD111"]


def test_other_settings_have_entries_of_their_own() -> None:
    assert codes() == ["DD111"]
    assert codes(Settings(frozenset({"DD112"}))) == []
    assert codes() == ["DD111"]
    assert analysed(lambda: codes(Settings(frozenset({"DD112"})))) == []


@pytest.mark.parametrize("content", [b"", b"no entry", b"x\x9c\x03\x00\x00\x00\x00\x01"])
def test_an_entry_that_cannot_be_read_is_none(content: bytes) -> None:
    assert codes() == ["DD111"]
    for entry in Path(os.environ["XDG_CACHE_HOME"]).glob("ddpdoctor/lint-*/*"):
        entry.write_bytes(content)
    assert codes() == ["DD111"]


def test_an_entry_holds_only_for_the_same_bytes() -> None:
    kept = opened()
    kept.store("a.py", b"pass", Entry((), ()), Grounds(), named=False)
    assert kept.find("a.py", b"pass", named=False) == Entry((), ())
    assert kept.find("a.py", b"pass ", named=False) is None
    assert kept.find("a.py", b"pass", named=True) is None


SAMPLES = """import os
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

def main():
    dist.init_process_group("gloo")
    data = list(range(100))
    loader = DataLoader(data, sampler=DistributedSampler(data))
    for epoch in range(9):
        for batch in loader:
            print(batch)

if __name__ == "__main__":
    main()
"""


@pytest.fixture
def repository(folder: Path) -> Path:
    """A repository with a program that a script starts as several ranks."""
    (folder / ".git").mkdir()
    (folder / "train.py").write_text(SAMPLES)
    (folder / "roles.py").unlink()
    (folder / "run.sh").write_text("torchrun --nproc_per_node 8 train.py\n")
    return folder


def severities() -> list[str]:
    return [f.severity.value for f in engine.lint(["."], SETTINGS, cache=opened()).findings]


def asked(run: Callable[[], object]) -> int:
    """About how many findings a run asks the repository."""
    with mock.patch.object(confirmations, "confirmation", wraps=confirmations.confirmation) as question:
        run()
    return question.call_count


def test_what_the_repository_says_is_not_asked_again(repository: Path) -> None:
    assert severities() == ["warning"]
    assert asked(severities) == 0
    assert severities() == ["warning"]


@pytest.mark.parametrize("name", ["run.sh", "README.md", "jobs/eval.sh"])
def test_what_changes_how_it_is_started_is_noticed(repository: Path, name: str) -> None:
    (repository / "run.sh").write_text("python train.py\n")
    assert severities() == ["hint"]
    assert asked(severities) == 0
    (repository / name).parent.mkdir(exist_ok=True)
    (repository / name).write_text("torchrun --nproc_per_node 8 ../train.py\ntorchrun --nproc_per_node 8 train.py\n")
    assert severities() == ["warning"]
    (repository / name).unlink()
    assert severities() == (["warning"] if name == "run.sh" else ["hint"])


def test_another_file_of_the_project_is_noticed(repository: Path) -> None:
    (repository / "run.sh").unlink()
    (repository / "single.sh").write_text("python train.py\n")
    assert severities() == ["hint"]
    (repository / "job.py").write_text("import subprocess\n\nsubprocess.run(['torchrun', 'train.py'])\n")
    assert asked(severities) == 1
    assert asked(severities) == 0


def test_a_file_that_is_named_has_an_answer_of_its_own(repository: Path) -> None:
    (repository / "run.sh").write_text("python train.py\n")
    assert severities() == ["hint"]
    named = engine.lint(["train.py"], SETTINGS, cache=opened()).findings
    assert [f.severity.value for f in named] == ["warning"]
    assert severities() == ["hint"]


def test_the_folder_is_its_owners_alone() -> None:
    base = Path(os.environ["XDG_CACHE_HOME"]) / "ddpdoctor"
    base.mkdir(parents=True, mode=0o755)
    codes()
    assert {stat.S_IMODE(path.stat().st_mode) for path in (base, *base.iterdir())} == {0o700}


def test_without_a_usable_folder_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert cache.opened(SETTINGS) is None
    (tmp_path / "ddpdoctor").symlink_to(tmp_path / "project")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.opened(SETTINGS) is None


def test_an_entry_counts_while_the_code_that_made_it_is_the_same() -> None:
    package = Path(ddpdoctor.__file__).parent
    files = (path for top in ("lint", "model", "program") for path in (package / top).rglob("*.py"))
    assert {path.parent.relative_to(package).as_posix() for path in files} == set(cache.CODE)


def test_old_entries_are_removed_once_a_day() -> None:
    codes()
    base = Path(os.environ["XDG_CACHE_HOME"]) / "ddpdoctor"
    (base / "lint-older").mkdir()
    entries = [p for p in base.glob("lint-*/*") if p.name != "swept"]
    long_ago = 1_000_000_000
    for path in (entries[0], *base.glob("lint-*/swept")):
        os.utime(path, (long_ago, long_ago))
    opened()
    assert [p.exists() for p in entries] == [False, *[True] * (len(entries) - 1)]
    assert not (base / "lint-older").exists()


def test_no_cache_leaves_none(folder: Path) -> None:
    done = lint(folder, "--no-cache", "-o", "concise", ".")
    assert done.stdout.count("DD111") == 1
    assert not Path(os.environ["XDG_CACHE_HOME"]).exists()


def test_a_run_without_options_keeps_what_it_finds(folder: Path) -> None:
    (folder / "broken.py").write_text(BROKEN)
    first = lint(folder, ".")
    assert "DD111" in first.stdout
    again: list[str] = []
    assert analysed(lambda: again.append(lint(folder, ".").stdout)) == []
    assert again == [first.stdout]


def test_runs_side_by_side_find_the_same(folder: Path) -> None:
    for number in range(20):
        (folder / f"train{number}.py").write_text(f"{TRAIN}# {number}\n")
    command = [sys.executable, "-c", PROGRAM, "lint", "--jobs", "2", "-o", "concise", "."]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(3)]
    told = {run.communicate()[0] for run in runs}
    assert [run.returncode for run in runs] == [1, 1, 1]
    assert [text.count(b"DD111") for text in told] == [21]
