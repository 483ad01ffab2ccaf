"""Notebooks: IPython syntax, cells that are not Python, and the location of a finding in every format."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from ddpdoctor.lint import registry
from ddpdoctor.lint.linter import Linter
from ddpdoctor.lint.settings import Settings
from ddpdoctor.model.finding import Finding
from ddpdoctor.program import notebook
from ddpdoctor.program.source import DecodedSource, Unreadable
from tests.unit.lint.command import LOADER, lint

HEAD = "import torch.distributed as dist\n"
BARRIER = "if dist.get_rank() == 0:\n    dist.barrier()"


def _book(*cells: object, **more: object) -> bytes:
    return json.dumps({"cells": [{"cell_type": "code", "source": cell} for cell in cells], **more}).encode()


def _findings(raw: bytes) -> tuple[Finding, ...]:
    return Linter(Settings(registry.defaults())).bytes("book.ipynb", raw, named=True).findings


def _text(*cells: object) -> str:
    decoded = notebook.decode(_book(*cells))
    assert isinstance(decoded, DecodedSource)
    assert decoded.faults == ()
    return decoded.text


@pytest.mark.parametrize(
    ("cell", "python"),
    [
        ("%matplotlib inline\nx = 1", "pass\nx = 1\n"),
        ("if x:\n    !ls -l\n", "if x:\n    pass\n\n"),
        ("!pip install \\\n   torch\nx = 1", "pass\n\nx = 1\n"),
        ("files = !ls\nlog = %sx date", "files = get_ipython()\nlog = get_ipython()\n"),
        ("model?\nmodel.fit??\n?model\nx = 1  # right?", "pass\npass\npass\nx = 1  # right?\n"),
        ("!ls\nx = ('%s'\n     % y)", "pass\nx = ('%s'\n     % y)\n"),
        ('x = """\n!no shell\n%no magic\n"""', 'x = """\n!no shell\n%no magic\n"""\n'),
        ("%%bash\nls (\n", "\n\n\n"),
        ("\n%%writefile train.py\nx = (\n", "\n\n\n\n"),
        ("%%time\nx = 1", "pass\nx = 1\n"),
        (["a = 1\r\n", "b = 2"], "a = 1\nb = 2\n"),
        ("\n  x = f(\n 1,\n  )\n", "\nx = f(\n 1,\n)\n\n"),
        ("await f()", "await f()\n"),
        (None, "\n"),
    ],
)
def test_what_only_ipython_understands_is_taken_out(cell: object, python: str) -> None:
    assert _text(cell) == python


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b'{"cells": {"a": 1}}', "no list of cells"),
        (b'{"cells": null}', "no list of cells"),
        (b"{}", "no list of cells"),
        (b"[]", "no list of cells"),
        (b'{"worksheets": []}', "older than 4"),
        (b"{", "no JSON"),
        (b'{"cells": "\xff"}', "cannot decode"),
        (b'{"a":' * 100_000, "is not a notebook"),
    ],
)
def test_what_is_no_notebook_is_one_clear_finding(raw: bytes, message: str) -> None:
    decoded = notebook.decode(raw)
    assert isinstance(decoded, Unreadable)
    assert message in decoded.message
    (finding,) = _findings(raw)
    assert (finding.code, finding.cell) == ("DD199", None)


@pytest.mark.parametrize("cells", [[1, "x", None], [{}], [{"cell_type": "code"}], [{"cell_type": "code", "source": 5}]])
def test_cells_of_odd_shape_are_passed_over(cells: list[Any]) -> None:
    assert _findings(json.dumps({"cells": cells}).encode()) == ()


def test_a_cell_that_does_not_parse_hides_no_other() -> None:
    found = _findings(_book(HEAD, "def f(:\n    pass", BARRIER))
    assert [(f.code, f.cell, f.line, f.column) for f in found] == [("DD199", 2, 1, 7), ("DD111", 3, 2, 5)]


def test_another_language_is_nothing_to_find() -> None:
    for metadata in ({"kernelspec": {"language": "julia"}}, {"language_info": {"name": "R"}}):
        assert _findings(_book("barrier(", metadata=metadata)) == ()
    assert _findings(_book("x = (", metadata={"kernelspec": {"language": "python"}}))
    assert _findings(_book("x = (", metadata=[]))


def test_comments_hold_in_cells() -> None:
    assert _findings(_book(HEAD, BARRIER + "  # ddpdoctor: ignore[DD111] alone")) == ()


def test_every_format_tells_the_cell(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "markdown", "source": "# Training"},
        {"cell_type": "code", "source": HEAD + "%matplotlib inline"},
        {"cell_type": "raw", "source": "("},
        {"cell_type": "code", "source": "!ls\n" + BARRIER},
    ]
    (tmp_path / "book.ipynb").write_text(json.dumps({"cells": cells}))

    def told(form: str) -> str:
        return lint(tmp_path, "-o", form, "book.ipynb").stdout

    full = told("full")
    assert " --> book.ipynb:cell 4:3:5" in full
    assert "1 | !ls" in full
    assert "3 |     dist.barrier()" in full
    assert "book.ipynb:cell 4:2: the branch" in full
    assert told("concise").startswith("book.ipynb:cell 4:3:5: DD111 ")
    (entry,) = json.loads(told("json"))
    assert (entry["file"], entry["cell"], entry["line"], entry["related"][0]["cell"]) == ("book.ipynb", 4, 3, 4)
    assert json.loads(told("jsonl")) == entry
    # a line of a cell is no line of the file, which is all that these know
    assert "file=book.ipynb,line=1," in told("github")
    assert "::cell 4, line 3: only some ranks" in told("github")
    (quality,) = json.loads(told("gitlab"))
    assert "cell 4, line 3: " in quality["description"]
    (result,) = json.loads(told("sarif"))["runs"][0]["results"]
    assert result["message"]["text"].startswith("cell 4, line 3: ")
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 1
    failure = ET.fromstring(told("junit")).find(".//failure")
    assert failure is not None
    assert str(failure.get("message")).startswith("cell 4, line 3: ")


def test_standard_input_may_be_a_notebook(tmp_path: Path) -> None:
    raw = _book(HEAD, BARRIER).decode()
    assert "a.ipynb:cell 2:2:5" in lint(tmp_path, "-", "--stdin-filename", "a.ipynb", stdin=raw).stdout


def test_a_notebook_is_not_fixed(tmp_path: Path) -> None:
    (tmp_path / "book.ipynb").write_bytes(_book(f"{LOADER}\n\nmain(None)\n"))
    before = (tmp_path / "book.ipynb").read_bytes()
    done = lint(tmp_path, "--fix", "--unsafe-fixes", "book.ipynb")
    assert (done.returncode, "nothing to fix" in done.stderr) == (1, True)
    assert (tmp_path / "book.ipynb").read_bytes() == before
