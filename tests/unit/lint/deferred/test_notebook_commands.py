"""What a notebook says of how programs are started, and where."""

from __future__ import annotations

import json

import pytest

from ddpdoctor.lint.deferred.launches import Place
from ddpdoctor.lint.deferred.notebook_commands import script_of


def book(*cells: tuple[str, str]) -> bytes:
    written = [{"cell_type": kind, "metadata": {}, "source": text.splitlines(keepends=True)} for kind, text in cells]
    return json.dumps({"cells": written, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([("markdown", "Run it:\n\n    torchrun a.py")], {"Run it:": (1, 1), "    torchrun a.py": (1, 3)}),
        ([("code", "x = 1\nout = !torchrun \\\n  a.py\nx")], {"torchrun \\": (1, 2), "  a.py": (1, 3)}),
        ([("code", "n = 1"), ("code", "!a.sh {n} $n {m} $m")], {"a.sh 1 1 {m} $m": (2, 1)}),
        ([("code", "%%sh\npython a.py")], {"python a.py": (1, 2)}),
        ([("code", "%%writefile a.py\nprint('python b.py')")], {}),
        ([("code", "x\n\nsubprocess.run(['python', 'a.py'])")], {"python a.py": (1, 3)}),
        ([("code", "if x != 1:\n    pass")], {}),
    ],
)
def test_each_line_with_its_place(cells: list[tuple[str, str]], said: dict[str, tuple[int, int]]) -> None:
    text, places = script_of("book.ipynb", book(*cells))
    lines = text.decode().split("\n")
    assert len(lines) == len(places)
    found = {line: place for line, place in zip(lines, places, strict=True) if line and not line.startswith("%%")}
    assert found == {line: Place("book.ipynb", at, cell) for line, (cell, at) in said.items()}


@pytest.mark.parametrize("raw", [b"", b"{}", b"\xff", b'{"cells": [1, {}]}', b"[" * 100_000])
def test_what_is_no_notebook_says_nothing(raw: bytes) -> None:
    assert script_of("book.ipynb", raw).text.strip() == b""
