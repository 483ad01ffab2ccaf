"""Which files are linted: named, found, excluded, unreadable, given twice; and the message if there are none."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from ddpdoctor.cli.lint_output import LintProgress
from ddpdoctor.errors import InputError
from ddpdoctor.lint import engine, files, registry
from ddpdoctor.lint.linter import Linter
from ddpdoctor.lint.settings import DEFAULT_EXCLUDES, Settings, matches
from ddpdoctor.program import source
from tests.unit.lint.command import BROKEN, PROGRAM, environment, lint

SETTINGS = Settings(registry.defaults())


def _found(paths: list[str], settings: Settings = SETTINGS) -> list[tuple[str, bool]]:
    return list(files.discover(paths, settings))


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (
        "a.py",
        "src/b.py",
        "src/gen/c.py",
        "src/gen/deep/d.ipynb",
        ".venv/e.py",
        "src/notes.txt",
        "src/f.pyw",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x = 1\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_folder_gives_its_python_files_in_order(tree: Path) -> None:
    assert [f for f, _ in _found(["."])] == ["a.py", "src/b.py", "src/f.pyw", "src/gen/c.py", "src/gen/deep/d.ipynb"]


def test_a_path_that_is_given_twice_counts_once_and_as_named(tree: Path) -> None:
    assert _found([".", "a.py", "./src/../a.py", str(tree / "a.py"), "src"]) == [
        ("a.py", True), ("src/b.py", False), ("src/f.pyw", False), ("src/gen/c.py", False),
        ("src/gen/deep/d.ipynb", False),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("gen", ["a.py", "src/b.py", "src/f.pyw"]),
        ("src/gen", ["a.py", "src/b.py", "src/f.pyw"]),
        ("./src/gen/", ["a.py", "src/b.py", "src/f.pyw"]),
        ("src/*", ["a.py"]),
        ("**/gen/**", ["a.py", "src/b.py", "src/f.pyw"]),
        ("*.ipynb", ["a.py", "src/b.py", "src/f.pyw", "src/gen/c.py"]),
        ("[ab].py", ["src/f.pyw", "src/gen/c.py", "src/gen/deep/d.ipynb"]),
        ("b.py", ["a.py", "src/f.pyw", "src/gen/c.py", "src/gen/deep/d.ipynb"]),
    ],
)
def test_patterns_leave_out(tree: Path, pattern: str, left: list[str]) -> None:
    for force in (False, True):
        settings = Settings(registry.defaults(), exclude=(*DEFAULT_EXCLUDES, pattern), force_exclude=force)
        assert [f for f, _ in _found(["."], settings)] == left
        every = ["a.py", "src/b.py", "src/f.pyw", "src/gen/c.py", "src/gen/deep/d.ipynb"]
        assert [f for f, _ in _found(every, settings)] == (left if force else every)


@pytest.mark.parametrize(
    ("path", "pattern", "fits"),
    [
        ("tests/a.py", "tests/*", True),
        ("x/tests/deep/a.py", "tests/*", True),
        ("tests/a.py", "tests", True),
        ("tests.py", "tests", False),
        ("a/b.py", "**/b.py", True),
        ("b.py", "**/b.py", True),
        ("a/b.py", "b.p?", True),
    ],
)
def test_globs(path: str, pattern: str, fits: bool) -> None:
    assert matches(path, pattern) is fits


@pytest.mark.parametrize("path", ["nowhere.py", "", "a.py/b.py", "nul\0.py", "x" * 5000, "line\nand \x1b[31m.py"])
def test_a_path_that_is_not_there_is_an_error(tree: Path, path: str) -> None:
    with pytest.raises(InputError) as refused:
        _found(["a.py", path])
    assert refused.value.message.isprintable()
    assert lint(tree, path).returncode == 2


def test_what_cannot_be_read_is_a_finding_that_says_why(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tree / "pipe.py")
    (tree / "gone.py").symlink_to("nowhere.py")
    (tree / "round.py").symlink_to("round.py")
    report = engine.lint(["pipe.py", "gone.py", "round.py"], SETTINGS)
    assert [f.message for f in report.findings] == [
        "cannot be read: not a regular file",
        "cannot be read: a broken link",
        "cannot be read: a broken link",
    ]
    assert engine.lint(["."], SETTINGS).findings == ()
    real = files._open_regular

    def refuse(path: str, flags: int) -> int:
        if path.endswith("b.py"):
            raise PermissionError(13, "Permission denied")
        return real(path, flags)

    monkeypatch.setattr(files, "_open_regular", refuse)
    (finding,) = engine.lint(["."], SETTINGS).findings
    assert (finding.code, finding.file) == ("DD199", "src/b.py")
    assert finding.message == "cannot be read: permission denied"


def test_a_folder_that_cannot_be_listed_is_a_finding(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.scandir

    def refuse(path: str) -> object:
        if str(path).endswith("gen"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", refuse)
    monkeypatch.setattr(os, "listdir", refuse)
    (finding,) = engine.lint(["src"], SETTINGS).findings
    assert (finding.file, finding.message) == ("src/gen", "cannot be read: permission denied")


def test_codecs_that_fail_in_their_own_way_are_a_finding() -> None:
    for name in (b"undefined", b"punycode", b"rot13", b"hex", b"utf-16", b"mbcs", b"idna"):
        raw = b"# coding: " + name + b"\nimport torch.distributed as dist\n\xff\n"
        for finding in Linter(SETTINGS).bytes("x.py", raw, named=True).findings:
            assert finding.code == "DD199"


def test_no_files_at_all_is_said(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("")
    done = lint(tmp_path, ".")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "ddpdoctor: no Python files in .\n")


def test_standard_input_is_read_alone_and_finds_its_imports(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "sync.py").write_text("import torch.distributed as dist\ndef sync():\n    dist.barrier()\n")
    main = "import torch.distributed as dist\nfrom sync import sync\nif dist.get_rank() == 0:\n    sync()\n"
    assert "sub/main.py:4:" in lint(tmp_path, "-", "--stdin-filename", "sub/main.py", stdin=main).stdout
    assert lint(tmp_path, "-", stdin=main).returncode == 0
    refused = lint(tmp_path, "-", "sub", stdin=main)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)


def test_what_looks_like_an_option_is_a_path_behind_two_dashes(tmp_path: Path) -> None:
    (tmp_path / "-x.py").write_text(BROKEN)
    assert lint(tmp_path, "-o", "concise", "--", "-x.py").stdout.startswith("-x.py:5:9: DD111")
    assert lint(tmp_path, "-x.py").returncode == 2


def _on_a_terminal(folder: Path, *argv: str) -> str:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "lint", *argv], cwd=folder, stdout=theirs, stderr=theirs, stdin=theirs,
        env=environment(TERM="xterm"),
    ) as process:  # fmt: skip
        os.close(theirs)
        said = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:
                break
            if not part:
                break
            said += part
        process.wait(60)
    os.close(ours)
    return said.decode().replace("\r\n", "\n")


def test_a_terminal_is_told_that_nothing_was_found(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import torch.distributed as dist\n")
    (tmp_path / "other.py").write_text("x = 1\n")
    assert _on_a_terminal(tmp_path, ".") == "No findings in 2 files, of which 1 mentions distributed training.\n"
    assert _on_a_terminal(tmp_path, "other.py") == "No findings in 1 file.\n"
    assert _on_a_terminal(tmp_path, "-o", "json", ".") == "[]\n"
    (tmp_path / "train.py").write_text(HINTED)
    for _ in range(2):  # found, and as the cache knows it
        said = _on_a_terminal(tmp_path, "train.py")
        assert said == "No findings in 1 file. 1 hint is not shown: see --extend-select ALL.\n"
    (tmp_path / "train.py").write_text(BROKEN)
    assert _on_a_terminal(tmp_path, "train.py").startswith("\x1b[1;31mDD111\x1b[0m ")


#: a demonstration that is never seeded, and keeps nothing
HINTED = """\
import torch.distributed as dist

dist.init_process_group("gloo")
for batch in load():
    model(batch).sum().backward()
"""


class _Terminal:
    """A stream that says what it is."""

    def __init__(self, *, terminal: bool) -> None:
        self.terminal, self.text = terminal, ""

    def isatty(self) -> bool:
        return self.terminal

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None:
        pass


@pytest.mark.parametrize("terminal", [True, False])
def test_a_long_run_tells_a_terminal_how_far_it_is(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    stream = _Terminal(terminal=terminal)
    progress = LintProgress(stream)  # type: ignore[arg-type]
    progress.show(1, 9)
    assert stream.text == ""
    now[0] = 2.0
    progress.show(5, 9)
    progress.show(6, 9)
    progress.end()
    assert stream.text == ("\rddpdoctor: 5 of 9 files \x1b[K\r\x1b[K" if terminal else "")


def test_what_was_taken_away_is_said(tmp_path: Path) -> None:
    shell = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'
    command = [sys.executable, "-c", PROGRAM, "lint", str(tmp_path)]
    run = ["sh", "-c", shell, "sh", *command]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, timeout=300, env=environment())
    assert (done.returncode, done.stderr) == (2, "ddpdoctor: error: the working directory no longer exists\n")
    run = ["sh", "-c", 'exec "$@" - <&-', "sh", *command[:-1]]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, timeout=300, env=environment())
    assert (done.returncode, done.stderr) == (2, "ddpdoctor: error: `-` reads standard input, which is closed\n")


def test_of_a_file_that_is_too_large_no_more_is_read_than_tells_it(tmp_path: Path) -> None:
    with open(tmp_path / "large.py", "wb") as large:
        large.truncate(50_000_000)
    raw = files.read_file(str(tmp_path / "large.py"))
    assert raw is not None
    assert len(raw) == source.LARGEST + 1
    (finding,) = engine.lint([str(tmp_path / "large.py")], SETTINGS).findings
    assert "too large" in finding.message
