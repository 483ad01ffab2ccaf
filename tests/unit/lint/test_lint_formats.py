"""Findings as text: exact machine-readable formats, and the display of unusual source lines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from ddpdoctor.model.finding import Finding, Related, Severity
from ddpdoctor.report.findings import concise, full, github, gitlab, junit, sarif, summary
from tests.unit.lint.command import BROKEN, PROGRAM, environment, lint

ODD = 'a\nb: 100%, "<&>" | `x` \x1b[31m \u202e \ud800 \ufffe'


def _finding(line: int = 1, column: int = 1, end_line: int = 1, end_column: int = 2, message: str = "no") -> Finding:
    return Finding(
        "DD111", "collective-under-rank-branch", Severity.ERROR, "a.py", line, column, end_line, end_column, message,
        (Related("b.py", 3, message),),
    )  # fmt: skip


def _frame(text: str, finding: Finding) -> list[str]:
    shown = full.render([finding], {"a.py": text}).split("\n")
    return [line for line in shown[2:] if " | " in line]


@pytest.mark.parametrize(
    ("text", "finding", "expected"),
    [
        ("\tf(x)\n", _finding(column=2, end_column=6), ["1 |     f(x)", "  |     ^^^^"]),
        ('"日本"; f(x)', _finding(column=7, end_column=11), ['1 | "日本"; f(x)', "  |         ^^^^"]),
        ('"e\u0301"; f(x)', _finding(column=7, end_column=11), ['1 | "e\u0301"; f(x)', "  |      ^^^^"]),
        ("f(\n  x,\n)\ny", _finding(end_line=3), ["1 | f(", "  | ^^", "2 |   x,", "3 | )"]),
        ("\x0cf(x)", _finding(column=2, end_column=6), ["1 | ?f(x)", "  |  ^^^^"]),
        ("f(x)", _finding(column=9, end_column=9), ["1 | f(x)", "  |     ^"]),
        ("x", _finding(line=1, column=1, end_column=1), ["1 | x", "  | ^"]),
    ],
    ids=["tab", "wide", "combining", "several lines", "form feed", "behind the end", "empty"],
)
def test_the_caret_stands_below_what_it_is_about(text: str, finding: Finding, expected: list[str]) -> None:
    assert _frame(text, finding) == expected


def test_a_very_long_line_is_cut_around_the_finding() -> None:
    text = "x" * 5000 + " f(y) " + "z" * 5000
    shown, caret = _frame(text, _finding(column=5002, end_column=5006))
    assert len(shown) < 180
    start = caret.index("^")
    assert shown[start : start + 4] == "f(y)"
    assert shown.startswith("1 | ...x")
    assert shown.endswith("z...")
    assert caret.count("^") == 4
    (long, below) = _frame("f(" + "x" * 10_000 + ")", _finding(end_column=10_004))
    assert below.count("^") == full.LONGEST
    assert long.endswith("...")


def test_a_line_that_is_not_there_has_no_frame() -> None:
    assert _frame("x\n", _finding(line=9, end_line=9)) == []


def test_colours_are_for_terminals_and_for_those_who_force_them(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(BROKEN)
    for form in ("full", "concise"):
        assert "\x1b" not in lint(tmp_path, "-o", form, ".").stdout
        assert "\x1b[1;31mDD111\x1b[0m" in lint(tmp_path, "-o", form, ".", FORCE_COLOR="1").stdout
        assert "\x1b" not in lint(tmp_path, "-o", form, ".", FORCE_COLOR="1", NO_COLOR="1").stdout
    for form in ("json", "jsonl", "sarif", "github", "gitlab", "junit"):
        assert "\x1b" not in lint(tmp_path, "-o", form, ".", FORCE_COLOR="1").stdout


def test_odd_text_drives_no_terminal_and_breaks_no_format() -> None:
    finding = _finding(message=ODD)
    for told in (full.render([finding], {}), concise.render([finding], {}), summary.render([finding], {})):
        assert not any(c in told for c in "\x1b\u202e\ud800\ufffe")
        assert "a b: 100%" in told
    (command, end) = github.render([finding], {}).split("\n")
    assert end == ""
    assert "::a%0Ab: 100%25, " in command
    ET.fromstring(junit.render([finding], {}).encode())
    assert json.loads(gitlab.render([finding], {}).encode())
    assert json.loads(sarif.render([finding], {}).encode())["runs"][0]["results"]


def test_names_of_files_are_escaped_as_each_format_has_it() -> None:
    odd = Finding("DD111", "x", Severity.HINT, "a:b, 100%\n.py", 1, 1, 2, 1, "no")
    assert github.render([odd], {}).startswith("::notice file=a%3Ab%2C 100%25%0A.py,line=1,endLine=2,col=1,title=")
    assert '"uri": "a%3Ab%2C%20100%25%0A.py"' in sarif.render([odd], {})
    outside = Finding("DD111", "x", Severity.HINT, "/o p/\udcff.py", 1, 1, 1, 1, "no")
    assert '"uri": "file:///o%20p/%FF.py"' in sarif.render([outside], {})
    assert concise.render([odd], {}).count("\n") == 2
    assert "a:b, 100% .py:1" in summary.render([odd], {})


def test_names_that_are_no_text_are_told_in_every_format(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff.py")).write_text(BROKEN)
    (tmp_path / "n\nl.py").write_text(f"{BROKEN}# another\n")
    for form in ("full", "concise", "json", "jsonl", "sarif", "github", "gitlab", "junit"):
        done = lint(tmp_path, "-o", form, ".", PYTHONIOENCODING="ascii:strict")
        assert (done.returncode, done.stderr) == (1, ""), form
        assert done.stdout.count("DD111") >= 2


def test_nothing_found_is_exact_for_programs(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("x = 1\n")
    expected = {"full": "", "concise": "", "json": "[]\n", "jsonl": "", "github": "", "gitlab": "[]\n"}
    for form, text in expected.items():
        done = lint(tmp_path, "-o", form, "train.py")
        assert (done.returncode, done.stdout, done.stderr) == (0, text, "")
    (run,) = json.loads(lint(tmp_path, "-o", "sarif", "train.py").stdout)["runs"]
    assert (run["results"], run["tool"]["driver"]["rules"]) == ([], [])


def test_services_are_told_paths_from_the_root_of_the_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    inner = tmp_path / "sub" / "inner"
    inner.mkdir(parents=True)
    (inner / "train.py").write_text(BROKEN)
    for argv in (("train.py",), ("../inner",), (str(inner),)):
        assert "file=sub/inner/train.py," in lint(inner, "-o", "github", *argv).stdout
        (entry,) = json.loads(lint(inner, "-o", "gitlab", *argv).stdout)
        assert entry["location"]["path"] == "sub/inner/train.py"
        assert lint(inner, "-o", "sarif", *argv).stdout.count('"uri": "sub/inner/train.py"') == 2
    assert "file=inner/train.py," in lint(inner, "-o", "github", ".", GITHUB_WORKSPACE=str(tmp_path / "sub")).stdout
    # a workspace that this is not in says nothing
    assert "file=sub/inner/train.py," in lint(inner, "-o", "github", ".", CI_PROJECT_DIR="/elsewhere").stdout
    assert lint(inner, "-o", "concise", ".").stdout.startswith("train.py:5:9: ")


def test_github_gets_all_findings_on_the_page_of_the_run(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(BROKEN)
    page = tmp_path / "summary.md"
    page.write_text("before\n")
    lint(tmp_path, "-o", "github", ".", GITHUB_STEP_SUMMARY=str(page))
    assert page.read_text().startswith("before\n### ddpdoctor lint: 1 error\n\n| rule |")
    assert "| DD111 collective-under-rank-branch | error | train.py:5 | only some ranks" in page.read_text()
    refused = lint(tmp_path, "-o", "github", ".", GITHUB_STEP_SUMMARY=str(tmp_path))
    assert (refused.returncode, "cannot write the summary" in refused.stderr) == (1, True)


def test_statistics_as_text_and_as_json(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(BROKEN + BROKEN)
    assert lint(tmp_path, "--statistics", ".").stdout.split() == ["2", "DD111", "error", "collective-under-rank-branch"]
    told = json.loads(lint(tmp_path, "--statistics", "-o", "json", ".").stdout)
    assert told == [{"code": "DD111", "name": "collective-under-rank-branch", "severity": "error", "count": 2}]


def test_a_reader_that_leaves_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(BROKEN.replace("main", "main0") + BROKEN.partition("\n")[2] * 250)
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "lint", "-o", "json", "train.py"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.read(10)
    process.stdout.close()
    _, said = process.communicate(timeout=300)
    assert (process.returncode, said) == (141, b"")
