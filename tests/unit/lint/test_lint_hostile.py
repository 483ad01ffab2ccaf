"""Files that no parser loves are one finding with a line, never a traceback."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ddpdoctor.lint import engine, registry
from ddpdoctor.lint.settings import Settings

SETTINGS = Settings(registry.defaults())
HEAD = b"import torch.distributed as dist\n"


def _lint(path: Path) -> list[tuple[str, int]]:
    report = engine.lint([str(path)], SETTINGS)
    return [(f.code, f.line) for f in report.findings]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (HEAD + b"def f(:\n", [("DD199", 2)]),
        (HEAD + b"x = '\xe9'\n", [("DD199", 1)]),
        (b"# coding: latin-1\n" + HEAD + b"x = '\xe9'\n", []),
        (b"# coding: klingon\n" + HEAD, [("DD199", 1)]),
        (b"\xef\xbb\xbf" + HEAD, []),
        (HEAD + b"x = '\x00'\n", [("DD199", 2)]),
        (HEAD.replace(b"\n", b"\r\n") + b"dist.barrier()\r\n", []),
        (b"", []),
        (b"print 'python 2'\n", [("DD199", 1)]),
        (HEAD + b"x = " + b"(" * 150 + b")" * 150 + b"\n", None),
        (HEAD + b"x = " + b"-" * 5000 + b"1\n", None),
        (HEAD + b"x = " + b"[" * 95 + b"]" * 95 + b"\n", None),
        (HEAD + b"x = a" + b".b" * 3000 + b"\n", None),
        (HEAD + b"x = a" + b" + a" * 3000 + b"\n", None),
        (HEAD + b"x = f" + b"(1)" * 2000 + b"\n", None),
        (HEAD + b"".join(b" " * i + b"if x:\n" for i in range(99)) + b" " * 99 + b"dist.barrier()\n", None),
    ],
)
def test_hostile(raw: bytes, expected: list[tuple[str, int]] | None, tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_bytes(raw)
    found = _lint(path)
    if expected is not None:
        assert found == expected
    else:
        assert all(code == "DD199" for code, _ in found)
        assert len(found) <= 1


def test_ten_megabytes_on_one_line(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_bytes(HEAD.strip() + b"; x = [" + b"1," * 5_000_000 + b"]")
    assert _lint(path) == [("DD199", 1)]


def test_links_in_a_circle_fifos_and_broken_links(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    (tmp_path / "a" / "self.py").symlink_to(tmp_path / "a" / "self.py")
    (tmp_path / "gone.py").symlink_to(tmp_path / "nowhere.py")
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "ok.py").write_bytes(HEAD)
    assert _lint(tmp_path) == []


def test_recursion_in_the_program_ends(tmp_path: Path) -> None:
    source = (
        b"def f(n):\n    dist.barrier()\n    return g(n)\ndef g(n):\n    return f(n)\nclass A(A): pass\nf(1)\nx = x\n"
    )
    path = tmp_path / "x.py"
    path.write_bytes(HEAD + source)
    assert _lint(path) == []
