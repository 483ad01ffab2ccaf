"""The Markdown cases: prose, code, and a trailing `# error: CODE` (or warning, hint) on each line with a finding.

A heading of level 2 starts a case. Its code blocks are files: ```python file=helpers.py, or main.py without a name.
Every rule runs over every case. What the rule that the file of cases is named after finds must be exactly what is
marked (for files in comments/: what all rules that are on by default find). What the other rules find must be exactly
what tests/lint_cases/other-rules.txt records, so that a change of one rule shows in the cases of all. After a change
that is meant, `python -m tests.unit.lint.test_lint_cases` records them again: read the difference.
`(torch 1.8)` in the heading lints for that version.
"""

from __future__ import annotations

import functools
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ddpdoctor.lint import engine, own_rules, registry
from ddpdoctor.lint.registry import Registered
from ddpdoctor.lint.settings import Settings
from ddpdoctor.model.record import replace

CASES = Path(__file__).resolve().parents[2] / "lint_cases"
RECORDED = CASES / "other-rules.txt"
_MARK = re.compile(r"#\s*(error|warning|hint):\s*(DD1\d\d)")
TORCH = re.compile(r"\(torch (\d+)\.(\d+)\)")
_FENCE = re.compile(r"^```python(?:\s+file=(\S+))?\s*$")


@dataclass
class Case:
    code: str
    title: str
    files: dict[str, list[str]] = field(default_factory=dict)


def cases(path: Path) -> list[Case]:
    """The cases of one file."""
    found: list[Case] = []
    current: list[str] | None = None
    for line in path.read_text(encoding="utf-8").split("\n"):
        fence = _FENCE.match(line)
        if current is not None:
            if line.startswith("```"):
                current = None
            else:
                current.append(line)
        elif line.startswith("## "):
            found.append(Case(path.name[:5], line[3:]))
        elif fence is not None:
            current = found[-1].files.setdefault(fence.group(1) or "main.py", [])
    return found


def all_cases() -> list[Case]:
    return [case for path in sorted(CASES.glob("DD*.md")) for case in cases(path)]


def _about_comments() -> list[Case]:
    return [case for path in sorted((CASES / "comments").glob("*.md")) for case in cases(path)]


@pytest.mark.parametrize("case", all_cases(), ids=lambda c: f"{c.code}: {c.title}")
def test_case(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    own, others = _found_by_all(case)
    assert own == _marked(case)
    assert others == _recorded().get(_heading(case), [])


@pytest.mark.parametrize("case", _about_comments(), ids=lambda c: c.title)
def test_case_about_comments(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert set(lint(case, Settings(registry.defaults(), hints=frozenset()))) == _marked(case)


def test_the_recorded_findings_are_of_cases_that_exist() -> None:
    assert set(_recorded()) <= {_heading(case) for case in all_cases()}


#: (file, line, severity, code)
Marked = tuple[str, int, str, str]


def _found_by_all(case: Case) -> tuple[set[Marked], list[str]]:
    """What the case's own rule finds in it, and, as lines, what all other rules find."""
    found = lint(case, Settings(frozenset(registry.names())))
    own = {one for one in found if one[3] in (case.code, own_rules.UNREADABLE.code)}
    return own, [f"{file}:{line} {severity} {code}" for file, line, severity, code in sorted(found - own)]


def lint(case: Case, settings: Settings) -> set[Marked]:
    """Lint the case's files, which are written to the current folder."""
    for name, lines in case.files.items():
        target = Path(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("\n".join(lines), encoding="utf-8")
    version = TORCH.search(case.title)
    if version is not None:
        settings = replace(settings, torch_version=(int(version[1]), int(version[2])))
    report = engine.lint(sorted(case.files), settings)
    return {(f.file, f.line, f.severity.value, f.code) for f in report.findings}


def _marked(case: Case) -> set[Marked]:
    return {
        (name, number, severity, code)
        for name, lines in case.files.items()
        for number, line in enumerate(lines, start=1)
        for severity, code in _MARK.findall(line)
    }


def _heading(case: Case) -> str:
    return f"{case.code}: {case.title}"


@functools.cache
def _recorded() -> Mapping[str, list[str]]:
    """Heading of a case -> the findings of the other rules."""
    found: dict[str, list[str]] = {}
    heading = ""
    for line in RECORDED.read_text(encoding="utf-8").splitlines():
        if line.startswith("DD"):
            heading = line
        elif line:
            found.setdefault(heading, []).append(line.strip())
    return found


def _record() -> None:
    with RECORDED.open("w", encoding="utf-8") as stream, tempfile.TemporaryDirectory() as root:
        for number, case in enumerate(all_cases()):
            folder = Path(root, str(number))
            folder.mkdir()
            os.chdir(folder)
            _, others = _found_by_all(case)
            if others:
                stream.write("\n".join([_heading(case), *(f"    {line}" for line in others)]) + "\n")


@pytest.mark.parametrize("entry", registry.registered(), ids=lambda e: e.rule.code)
def test_every_rule_has_cases_that_fire_and_more_that_stay_silent(entry: Registered) -> None:
    own = [c for c in all_cases() if c.code == entry.rule.code]
    firing = [c for c in own if any(_MARK.search(line) for lines in c.files.values() for line in lines)]
    assert len(firing) >= 2
    assert len(own) - len(firing) >= 2
    assert (CASES / f"{entry.rule.code}-{entry.rule.name}.md").exists()


if __name__ == "__main__":
    _record()
