"""Which folder the project of a file is, and what files of a repository say of one of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ddpdoctor.lint.deferred.project_folder import top_of
from ddpdoctor.lint.deferred.repository import Repository


@pytest.mark.parametrize(
    ("files", "top"),
    [
        ((), "r/a"),
        (("r/a/__init__.py",), "r"),
        # what is around a repository is no part of it, though the repository is a package
        (("r/.git", "r/__init__.py", "r/a/__init__.py"), "r"),
        (("r/__init__.py", "r/a/__init__.py"), ""),
        # a folder that holds more than this project
        (("build/.git", "build/a/__init__.py"), "build"),
        (("build/a/__init__.py",), "build/a"),
    ],
)
def test_the_project_of_a_file(files: tuple[str, ...], top: str, tmp_path: Path) -> None:
    folder = "build/a" if any(file.startswith("build") for file in files) else "r/a"
    for file in (f"{folder}/train.py", *files):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    assert top_of(str(tmp_path / folder / "train.py")) == str(tmp_path / top)


@pytest.mark.parametrize(
    ("program", "top"),
    [
        ("from nets.units.block import Block", "r"),
        ("import nets.units.block as block", "r"),
        ("import networks\n# from nets", "r/nets/units"),
        (None, "r/nets/units"),
    ],
)
def test_a_package_without_a_file_that_says_so(program: str | None, top: str, tmp_path: Path) -> None:
    (tmp_path / "r/nets/units").mkdir(parents=True)
    (tmp_path / "r/.git").touch()
    (tmp_path / "r/nets/units/block.py").touch()
    (tmp_path / "around.py").write_text("import r\n")
    if program is not None:
        (tmp_path / "r/train.py").write_text(f"import os\n{program}\n")
    assert top_of(str(tmp_path / "r/nets/units/block.py")) == str(tmp_path / top)


@pytest.mark.parametrize(
    ("program", "top"),
    [
        ("from engine.loops import train", "r"),
        ("import common", "r"),
        # it has one of its own, nothing has it, or no program is in it
        ("from steps import train", "r/tools/tasks"),
        ("import torch", "r/tools/tasks"),
        ("from data import train", "r/tools/tasks"),
        # the nearest one around
        ("from parts import block", "r/tools"),
        # what is around the repository
        ("import beside", "r/tools/tasks"),
    ],
)
def test_scripts_that_are_started_from_a_folder_around(program: str, top: str, tmp_path: Path) -> None:
    for file in ("r/.git", "r/engine/loops.py", "r/common.py", "r/steps.py", "r/tools/tasks/steps.py", "r/data/a.json",
                 "r/tools/parts/block.py", "beside.py"):  # fmt: skip
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    (tmp_path / "r/tools/tasks/train.py").write_text(f"import os\n{program}\n")
    assert top_of(str(tmp_path / "r/tools/tasks/train.py")) == str(tmp_path / top)


@pytest.mark.parametrize(
    ("program", "top"),
    [
        ("from nets import Net\nif __name__ == '__main__':\n    Net()", "r"),
        # it is no program, or has one of its own
        ("from nets import Net", "r/nets"),
        ("from nets import Net\nfrom parts import Part\nif __name__ == '__main__':\n    Net()", "r"),
        ("from parts import Part\nif __name__ == '__main__':\n    Part()", "r/nets"),
    ],
)
def test_a_folder_that_scripts_beside_it_import(program: str, top: str, tmp_path: Path) -> None:
    for file in ("r/.git", "r/nets/net.py", "r/tools/train.py", "r/tools/parts/part.py", "r/parts/part.py"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    (tmp_path / "r/tools/train.py").write_text(f"import os\n{program}\n")
    assert top_of(str(tmp_path / "r/nets/net.py")) == str(tmp_path / top)
    assert top_of(str(tmp_path / "r/parts/part.py")) == str(tmp_path / "r/parts")


def test_the_users_own_folder_is_no_copy_of_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "job").mkdir()
    for file in (".gitignore", "README.md", "LICENSE", "job/train.py"):
        (tmp_path / file).touch()
    found = Repository(str(tmp_path / "job")).launches.scripts
    monkeypatch.setenv("HOME", str(tmp_path))
    assert [*found] == [str(tmp_path / "README.md")]
    assert not Repository(str(tmp_path / "job")).launches.scripts


def test_a_file_whose_name_no_other_one_has(tmp_path: Path) -> None:
    for file in (".git", "a/train.py", "b/train.py", "b/test.py"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).touch()
    repository = Repository(str(tmp_path / "b"))
    alone = [repository.is_only(str(tmp_path / "b" / name)) for name in ("train.py", "test.py")]
    assert alone == [False, True]


PARSES = "def get_args():\n    parse()\n\ndef load():\n    pass\n\nif __name__ == '__main__':\n    get_args()\n"


@pytest.mark.parametrize(
    ("program", "calls"),
    [
        ("from show import get_args\nget_args()", True),
        ("import show\nshow.get_args()", True),
        ("from show import load\nload()", False),
        ("from show import load\ndef get_args():\n    pass\nget_args()", False),
    ],
)
def test_who_calls_a_function_of_another_program(program: str, calls: bool, tmp_path: Path) -> None:
    for name, text in (("show.py", PARSES), ("train.py", program)):
        (tmp_path / name).write_text(text)
    repository = Repository(str(tmp_path))
    show, train = (str(tmp_path / name) for name in ("show.py", "train.py"))
    assert (repository.calls(train, show, 2), repository.calls(show, show, 2)) == (calls, True)
