"""The wheel alone, in an environment with what it requires and nothing else: no torch, no checkout."""

from __future__ import annotations

import email
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from email.message import Message
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import ddpdoctor
from ddpdoctor.cli import main

ROOT = Path(__file__).parents[2]
BUILD = "needs the extra `dev`: pip install '.[dev]'"
#: a log that needs nothing but itself
LOG = """[rank1]: Traceback (most recent call last):
[rank1]:   File "/app/train.py", line 88, in main
[rank1]:     x = data[3]
[rank1]: IndexError: list index out of range
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution, and the wheel that was built from it as an installer would."""
    pytest.importorskip("hatchling", reason=BUILD)
    folder = tmp_path_factory.mktemp("built")
    _run([sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(folder)], ROOT)
    (packed,) = folder.glob("*.tar.gz")
    with tarfile.open(packed) as archive:
        archive.extractall(folder, filter="data")
    _run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        packed.with_suffix("").with_suffix(""),
    )
    return folder


@pytest.fixture(scope="module")
def packages(built: Path, described: Message, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What an empty environment gets: the wheel, and what it requires, from the environment of the tests."""
    folder = tmp_path_factory.mktemp("packages")
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    for distribution in _required(described.get_all("Requires-Dist") or [], set()):
        for name in {Path(str(file)).parts[0] for file in distribution.files or ()} - {".."}:
            (folder / name).symlink_to(str(distribution.locate_file(name)))
    return folder


def _required(lines: Iterable[str], seen: set[str]) -> Iterator[metadata.Distribution]:
    """What a distribution needs without extras, and what that needs."""
    for wanted in map(Requirement, lines):
        if wanted.name not in seen and (wanted.marker is None or wanted.marker.evaluate({"extra": ""})):
            seen.add(wanted.name)
            yield metadata.distribution(wanted.name)
            yield from _required(metadata.requires(wanted.name) or (), seen)


def _run(command: list[str], folder: Path) -> None:
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    assert ended.returncode == 0, ended.stderr


@pytest.fixture(scope="module")
def described(built: Path) -> Message:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if re.fullmatch(r"ddpdoctor-[^/]*/METADATA", n))
        return email.message_from_bytes(archive.read(name))


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of a user's: a program with a fault and one without, a bundle, a log."""
    folder = tmp_path_factory.mktemp("work")
    for name in ("broken", "fixed"):
        (folder / f"{name}.py").write_text(
            (ROOT / "fixtures" / "rank-conditional-collective" / f"{name}.py").read_text()
        )
    (folder / "job.log").write_text(LOG)
    with tarfile.open(ROOT / "docs" / "tutorial" / "bundle.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder


#: a command line, its exit status, and words that it prints
COMMANDS = (
    ("--version", 0, f"ddpdoctor {ddpdoctor.__version__}"),
    ("--help", 0, "usage: ddpdoctor COMMAND"),
    ("lint broken.py", 1, "DD111"),
    ("lint fixed.py", 0, ""),
    ("diagnose bundle", 1, "DD203 certain"),
    ("diagnose job.log", 1, "IndexError"),
    ("explain DD203", 0, "rank-conditional-collective"),
    ("explain DD111", 0, "collective-under-rank-branch"),
    ("check", 0, "checks"),
    ("report bundle", 0, "DD203 certain"),
    ("report bundle -f html", 0, "<html"),
    ("report bundle -f markdown", 0, "DD203"),
    ("report bundle -f json", 0, '"ddpdoctor.report/2"'),
    ("report bundle -f junit", 0, "<testsuites"),
    ("report bundle -f trace", 0, "traceEvents"),
    ("repro list", 0, "uneven-inputs"),
    ("config show", 0, "stall-after"),
    ("completion bash", 0, "_ddpdoctor"),
    ("watch -- true", 0, "exit status 0"),
    ("dump 4194305", 2, "ddpdoctor: error: "),
    ("diagnose nowhere", 2, "ddpdoctor: error: "),
    ("repro run uneven-inputs", 2, "`pip install 'ddpdoctor[torch]'`"),
)


def test_every_command_is_tried() -> None:
    assert {line.split()[0] for line, _, _ in COMMANDS} >= set(main.COMMANDS)


@pytest.mark.parametrize(("line", "status", "words"), COMMANDS, ids=[line for line, _, _ in COMMANDS])
def test_it_works_without_torch(line: str, status: int, words: str, packages: Path, work: Path) -> None:
    # isolated, without site-packages: what is imported is in `packages` or in the standard library
    begin = f"import sys; sys.path.insert(0, {str(packages)!r}); from ddpdoctor.cli.main import entry; entry()"
    environ = {**os.environ, "PATH": f"{packages}:/usr/bin:/bin", "GITHUB_ACTIONS": ""}
    ended = subprocess.run(
        [sys.executable, "-I", "-S", "-c", begin, *line.split()],
        cwd=work,
        env=environ,
        capture_output=True,
        text=True,
        timeout=120,
    )
    said = ended.stdout + ended.stderr
    assert ended.returncode == status, said
    assert words in said
    assert "Traceback" not in ended.stderr
    assert str(ROOT) not in said


def test_an_index_shows_where_it_comes_from(described: Message) -> None:
    classifiers = pytest.importorskip("trove_classifiers", reason=BUILD).classifiers
    named = described.get_all("Classifier") or []
    assert set(named) <= classifiers
    assert {f"Programming Language :: Python :: 3.{minor}" for minor in range(10, 14)} <= set(named)
    assert described["Version"] == ddpdoctor.__version__
    addresses = dict(line.split(", ") for line in described.get_all("Project-URL") or [])
    assert {"Source", "Documentation", "Changelog", "Issues"} <= set(addresses)
    assert all(address.startswith(f"{addresses['Source']}") for address in addresses.values())


def test_links_of_the_readme_lead_somewhere_from_an_index(described: Message) -> None:
    text = described.get_payload()
    assert isinstance(text, str)
    targets = re.findall(r"\]\(([^)]+)\)", text)
    place = rf"https://\S+/(?:blob|raw)/v{re.escape(ddpdoctor.__version__)}/([^#]+)(?:#.*)?"
    ours = [re.fullmatch(place, target) for target in targets]
    assert len(targets) > 10
    assert [target for target, found in zip(targets, ours, strict=True) if found is None] == []
    assert [found[1] for found in ours if found and not (ROOT / found[1]).exists()] == []
    (picture,) = re.findall(r"!\[[^]]*\]\(([^)]+)\)", text)
    assert "/raw/" in picture


def test_the_changelog_knows_the_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## \[{re.escape(ddpdoctor.__version__)}\] - \d{{4}}-\d\d-\d\d$", text, re.MULTILINE)
    assert f"rev: v{ddpdoctor.__version__}\n" in (ROOT / "docs" / "lint.md").read_text(encoding="utf-8")
