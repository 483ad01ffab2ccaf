"""Fixes: what they preserve, that they terminate, and that each rule's fix removes its finding and nothing else."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from ddpdoctor.cli import lint_fixes
from ddpdoctor.lint import engine, fix, registry
from ddpdoctor.lint.linter import Linter
from ddpdoctor.lint.settings import Settings
from ddpdoctor.model.finding import Applicability, Edit, Finding, Fix, Severity
from ddpdoctor.model.record import replace
from tests.unit.lint.command import BROKEN, LOADER, LOADER_FIXED, lint
from tests.unit.lint.test_lint_cases import CASES, TORCH, Case, cases

FIX = ("--fix", "--unsafe-fixes")
DECORATED = "        @compiled\n        def f():\n            pass\n"


def _finding(*edits: Edit) -> Finding:
    return Finding("DD104", "x", Severity.ERROR, "a.py", 1, 1, 1, 1, "", fix=Fix(Applicability.SAFE, edits))


@pytest.mark.parametrize("path", sorted(CASES.glob("DD*.md")), ids=lambda p: p.name[:5])
def test_a_fix_does_away_with_its_finding_and_makes_no_new_one(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not registry_has_fix(path):
        return
    for index, case in enumerate(cases(path)):
        folder = tmp_path / str(index)
        for name, lines in case.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        monkeypatch.chdir(folder)
        _check_fixes(case)


def registry_has_fix(path: Path) -> bool:
    """Whether the rule that the file of cases is about makes fixes at all; what cannot be read has no rule's file."""
    rules = Path(registry.__file__).parent / "rules"
    module = rules / f"{path.stem[6:].replace('-', '_')}.py"
    return module.is_file() and "Applicability" in module.read_text(encoding="utf-8")


def _check_fixes(case: Case) -> None:
    version = TORCH.search(case.title)
    own = Settings(frozenset({case.code}), torch_version=(int(version[1]), int(version[2])) if version else (2, 13))
    every = replace(own, codes=frozenset(registry.names()))
    for name, findings in _found(case, own).items():
        text = Path(name).read_text(encoding="utf-8")
        for finding in fix.fixable(findings, unsafe=True):
            before = _codes(_found(case, every))
            fixed, count = fix.apply(text, [finding], unsafe=True)
            assert count == 1
            ast.parse(fixed)
            Path(name).write_text(fixed, encoding="utf-8")
            after = _codes(_found(case, every))
            Path(name).write_text(text, encoding="utf-8")
            told = f"{case.title}\n{fix.diff(name, text, fixed)}"
            assert after[name, case.code] < before[name, case.code], told
            assert not after - before, told


def _found(case: Case, settings: Settings) -> dict[str, tuple[Finding, ...]]:
    linter = Linter(settings)
    return {name: linter.file(name, named=True).findings for name in sorted(case.files)}


def _codes(found: dict[str, tuple[Finding, ...]]) -> Counter[tuple[str, str]]:
    return Counter((name, f.code) for name, findings in found.items() for f in findings)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (LOADER.encode(), LOADER_FIXED.encode()),
        (b"\xef\xbb\xbf" + LOADER.encode(), b"\xef\xbb\xbf" + LOADER_FIXED.encode()),
        (LOADER.replace("\n", "\r\n").encode(), LOADER_FIXED.replace("\n", "\r\n").encode()),
        (LOADER.replace("\n", "\r").encode(), LOADER_FIXED.replace("\n", "\r").encode()),
        (
            f"# coding: latin-1\n# caf\xe9 \x0c\n{LOADER}".encode("latin-1"),
            f"# coding: latin-1\n# caf\xe9 \x0c\n{LOADER_FIXED}".encode("latin-1"),
        ),
        # of mixed line ends every one stays
        (LOADER.replace("(data)\n", "(data)\r\n").encode(), LOADER_FIXED.replace("(data)\n", "(data)\r\n").encode()),
        (LOADER.rstrip().encode(), LOADER_FIXED.rstrip().encode()),
    ],
    ids=["plain", "mark", "crlf", "cr", "latin-1", "mixed", "no newline at the end"],
)
def test_the_rest_of_the_file_stays_byte_for_byte(raw: bytes, expected: bytes, tmp_path: Path) -> None:
    target = tmp_path / "train.py"
    target.write_bytes(raw)
    done = lint(tmp_path, *FIX, "train.py")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "ddpdoctor: fixed 2 findings in 1 file\n"
    assert target.read_bytes() == expected
    again = lint(tmp_path, *FIX, "train.py")
    assert (again.returncode, again.stderr) == (0, "ddpdoctor: nothing to fix\n")
    assert target.read_bytes() == expected


def test_fixes_that_overlap_wait_for_one_another() -> None:
    one, two = _finding(Edit(1, 1, 1, 3, "x")), _finding(Edit(1, 2, 1, 4, "y"))
    assert fix.apply("abcd\n", [one, two], unsafe=False) == ("xcd\n", 1)
    assert fix.apply("abcd\n", [_finding(Edit(1, 2, 1, 2, "-")), _finding(Edit(1, 4, 1, 9, "!"))], unsafe=False) == (
        "a-bc!",
        2,
    )


def test_a_diff_is_one_that_patch_reads(tmp_path: Path) -> None:
    text = LOADER.replace("def main", "# \x0c \x0b \u2028\r\ndef main").rstrip()
    (tmp_path / "train.py").write_text(text, encoding="utf-8", newline="")
    shown = lint(tmp_path, "--diff", "--unsafe-fixes", "train.py")
    assert shown.returncode == 1
    assert shown.stdout.startswith("--- train.py\n+++ train.py\n@@ -3,7 +3,8 @@\n")
    assert shown.stdout.count("\n+") == 3  # the header and two lines
    assert (tmp_path / "train.py").read_text(encoding="utf-8").count("shuffle=True") == 1


def test_standard_input_is_fixed_to_standard_output_and_no_file_is_written(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("x = 1\n")
    source = LOADER + BROKEN
    done = lint(tmp_path, "-", *FIX, "--stdin-filename", "train.py", stdin=source)
    assert done.returncode == 1
    assert done.stdout == LOADER_FIXED + BROKEN
    assert "train.py:14:9" in done.stderr
    assert "fixed 2 findings in 1 file" in done.stderr
    assert (tmp_path / "train.py").read_text() == "x = 1\n"
    assert lint(tmp_path, "-", "--fix", stdin="x = 1\n").stdout == "x = 1\n"
    shown = lint(tmp_path, "-", "--diff", stdin=LOADER)
    assert (shown.returncode, shown.stdout.startswith("--- <stdin>\n")) == (1, True)


def test_what_is_left_is_told_with_its_frame_and_by_the_same_configuration(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.ddpdoctor.lint.per-file-ignores]\n"sub/*" = ["DD111"]\n')
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "train.py").write_text(LOADER + BROKEN)
    (tmp_path / "other.py").write_text(BROKEN)
    done = lint(tmp_path, *FIX, ".")
    assert done.returncode == 1
    assert done.stdout.count("DD111 collective-under-rank-branch") == 1
    assert "5 |         dist.barrier()" in done.stdout
    nothing = lint(tmp_path, *FIX, ".")
    assert (nothing.stdout, nothing.stderr) == (done.stdout, "ddpdoctor: nothing to fix\n")


def test_what_a_baseline_knows_is_not_fixed(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(LOADER)
    assert lint(tmp_path, "--baseline", "known.json", "train.py").returncode == 0
    done = lint(tmp_path, *FIX, "--baseline", "known.json", "train.py")
    assert (done.returncode, done.stderr) == (0, "ddpdoctor: nothing to fix\n")
    assert (tmp_path / "train.py").read_text() == LOADER
    assert lint(tmp_path, "--diff", "--baseline", "known.json", "train.py").stdout == ""


def test_exit_zero_with_diff_and_fix(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(LOADER + BROKEN)
    assert lint(tmp_path, "--diff", "--exit-zero", "train.py").returncode == 0
    assert lint(tmp_path, "--fix", "--exit-zero", "train.py").returncode == 0
    assert lint(tmp_path, *FIX, "-o", "json", "train.py").returncode == 1


def test_what_says_nothing_together_is_refused(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(LOADER)
    for argv in (("--diff", "--statistics"), ("--diff", "-o", "json"), ("--statistics", "-o", "sarif")):
        refused = lint(tmp_path, *argv, "train.py")
        assert (refused.returncode, refused.stdout) == (2, "")
        assert len(refused.stderr.strip().split("\n")) == 1


def test_a_new_name_is_safe_only_where_every_torch_in_use_has_it(tmp_path: Path) -> None:
    text = "import torch.distributed as dist\nx = dist.reduce_op.SUM\ndist.all_gather_into_tensor(a, b)\n"
    (tmp_path / "train.py").write_text(text)
    shown = lint(tmp_path, "--select", "DD191", "--diff", "train.py").stdout
    assert "+x = dist.ReduceOp.SUM\n" in shown
    assert "all_gather_single" not in shown
    assert "+dist.all_gather_single(a, b)\n" in lint(tmp_path, "--select", "DD191", *FIX, "--diff", "train.py").stdout


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        # tabs stay tabs
        (LOADER.replace("    ", "\t"), LOADER_FIXED.replace("    ", "\t")),
        # what stands first in the loop has a decorator
        (
            LOADER.replace(
                "        for batch", "        @compiled\n        def f():\n            pass\n        for batch"
            ),
            LOADER_FIXED.replace(
                "        for batch", "        @compiled\n        def f():\n            pass\n        for batch"
            ),
        ),
        # the name is another sampler's by then: only what is safe is fixed
        (
            LOADER.replace("    for epoch", "    sampler = DistributedSampler(data)\n    for epoch"),
            LOADER.replace("    for epoch", "    sampler = DistributedSampler(data)\n    for epoch").replace(
                ", shuffle=True", ""
            ),
        ),
    ],
    ids=["tabs", "decorator", "rebound"],
)
def test_where_the_epoch_is_told(source: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(source)
    lint(tmp_path, *FIX, "train.py")
    assert (tmp_path / "train.py").read_text() == expected


@pytest.mark.parametrize("content", ["x = 1; ", "x = ("])
def test_a_fix_that_does_nothing_or_breaks_the_file_is_taken_back(
    content: str,
) -> None:
    def odd(report: engine.LintReport) -> engine.LintReport:
        edits = [Fix(Applicability.SAFE, (Edit(f.line, 5, f.line, 5, content),)) for f in report.findings]
        found = [replace(f, fix=edit) for f, edit in zip(report.findings, edits, strict=True)]
        return replace(report, findings=tuple(found))

    for codes in ("DD104 DD101 DD199", "DD104"):
        settings = Settings(frozenset(codes.split()))
        found = Linter(settings).bytes("x.py", LOADER.encode(), named=True).findings
        report = odd(engine.LintReport(found, {}, 1, 1))
        assert report.findings
        assert lint_fixes.apply_fixes(report, lint_fixes.FixRun(settings, "", True, odd), LOADER.encode()) == []
