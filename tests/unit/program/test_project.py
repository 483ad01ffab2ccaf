"""What an import means in the layouts that people have."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from ddpdoctor.lint.files import is_file, read_file
from ddpdoctor.model.evidence import SourceFile
from ddpdoctor.program.program import Program
from ddpdoctor.program.project import Project

#: name, files, the importing one, its import, the file that is meant ("" for none of the project's)
LAYOUTS = [
    ("beside", ["train.py", "utils.py"], "train.py", "import utils", "utils.py"),
    ("package", ["pkg/__init__.py", "pkg/a.py", "pkg/b.py"], "pkg/a.py", "import pkg.b", "pkg/b.py"),
    ("relative", ["pkg/__init__.py", "pkg/a.py", "pkg/b.py"], "pkg/a.py", "from . import b", "pkg/b.py"),
    (
        "relative, up",
        ["pkg/__init__.py", "pkg/sub/__init__.py", "pkg/sub/a.py", "pkg/b.py"],
        "pkg/sub/a.py",
        "from ..b import x",
        "pkg/b.py",
    ),
    (
        "a script beside a package",
        ["scripts/train.py", "pkg/__init__.py"],
        "scripts/train.py",
        "import pkg",
        "pkg/__init__.py",
    ),
    (
        "a script far from its package",
        ["scripts/ablation/run/train.py", "pkg/__init__.py", "pkg/a.py"],
        "scripts/ablation/run/train.py",
        "from pkg import a",
        "pkg/a.py",
    ),
    (
        "src",
        ["src/pkg/__init__.py", "src/pkg/a.py", "tools/train.py"],
        "tools/train.py",
        "import pkg.a",
        "src/pkg/a.py",
    ),
    (
        "src, from within",
        ["src/pkg/__init__.py", "src/pkg/a.py", "src/pkg/b.py"],
        "src/pkg/a.py",
        "import pkg.b",
        "src/pkg/b.py",
    ),
    ("src, far", ["src/pkg/__init__.py", "jobs/x/train.py"], "jobs/x/train.py", "import pkg", "src/pkg/__init__.py"),
    (
        "namespace",
        ["corp/vision/loop/a.py", "corp/vision/b.py"],
        "corp/vision/loop/a.py",
        "import corp.vision.b",
        "corp/vision/b.py",
    ),
    (
        "namespace, relative",
        ["corp/vision/a.py", "corp/vision/b.py"],
        "corp/vision/a.py",
        "from . import b",
        "corp/vision/b.py",
    ),
    (
        "namespace, relative, up",
        ["corp/vision/loop/a.py", "corp/vision/common.py", "corp/vision/loop/common.py"],
        "corp/vision/loop/a.py",
        "from ..common import x",
        "corp/vision/common.py",
    ),
    (
        "namespace, up and down",
        ["corp/vision/loop/a.py", "corp/data/b.py"],
        "corp/vision/loop/a.py",
        "from ...data import b",
        "corp/data/b.py",
    ),
    (
        "namespace around a package",
        ["corp/vision/__init__.py", "corp/vision/a.py", "corp/data/__init__.py"],
        "corp/vision/a.py",
        "import corp.data",
        "corp/data/__init__.py",
    ),
    (
        "the nearest",
        ["utils.py", "scripts/utils.py", "scripts/a.py"],
        "scripts/a.py",
        "import utils",
        "scripts/utils.py",
    ),
    ("a library", ["torch/__init__.py", "bench/deep/er/a.py"], "bench/deep/er/a.py", "import torch", ""),
    ("the standard library", ["logging/__init__.py", "bench/deep/er/a.py"], "bench/deep/er/a.py", "import logging", ""),
    ("nothing of ours", ["train.py"], "train.py", "import elsewhere", ""),
]


def _texts(files: Iterable[str], importing: str, line: str) -> dict[str, str]:
    return {file: f"{line}\n" if file == importing else "x = 1\n" for file in files}


def _on_disk(texts: dict[str, str], top: Path) -> Project:
    for file, text in {**texts, "pyproject.toml": ""}.items():
        (top / file).parent.mkdir(parents=True, exist_ok=True)
        (top / file).write_text(text)
    return Project(read_file, is_file)


def _in_evidence(texts: dict[str, str], top: Path) -> Project:
    """As a stack names them: no `__init__.py` that nothing ran in is among the files, and no pyproject.toml."""
    return Program({f"{top}/{file}": SourceFile(f"{top}/{file}", text) for file, text in texts.items()}).project


@pytest.mark.parametrize("made", [_on_disk, _in_evidence])
@pytest.mark.parametrize(
    ("files", "importing", "line", "meant"), [case[1:] for case in LAYOUTS], ids=[c[0] for c in LAYOUTS]
)
def test_what_an_import_means(
    files: list[str],
    importing: str,
    line: str,
    meant: str,
    made: Callable[[dict[str, str], Path], Project],
    tmp_path: Path,
) -> None:
    top = tmp_path / "repository"
    project = made(_texts(files, importing, line), top)
    path = str(top / importing)
    origin = project.file(path, project.package(path)[1])
    assert origin is not None
    targets = list(origin.imports.values())
    if line.startswith("import ") and "." in line:
        targets = [line.removeprefix("import ")]
    found = next(
        (
            f.path
            for target in targets
            for name in (target, target.rpartition(".")[0])
            if (f := project.find(name, origin))
        ),
        "",
    )
    assert found == (str(top / meant) if meant else "")
    assert project.has(targets[0], origin) is bool(meant)


def test_installed_packages_are_no_projects(tmp_path: Path) -> None:
    texts = _texts(
        ["site-packages/mine/a.py", "site-packages/mine/__init__.py", "site-packages/other/__init__.py"], "", ""
    )
    project = _on_disk(texts, tmp_path)
    path = str(tmp_path / "site-packages" / "mine" / "a.py")
    assert project.where("mine", path)
    assert project.where("other", path) == ""


def test_without_a_root_one_folder_up_is_looked_at(tmp_path: Path) -> None:
    for file in ("a/b/c/train.py", "a/b/near.py", "a/far.py"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("")
    project = Project(read_file, is_file)
    path = str(tmp_path / "a/b/c/train.py")
    assert project.where("near", path) == str(tmp_path / "a/b/near.py")
    assert project.where("far", path) == ""
