"""The Markdown cases: prose, code, and a trailing `# error: CODE` (or warning, hint) on each line that must be found.

A heading of level 2 starts a case. Its code blocks are files: ```python file=helpers.py, or main.py without a name.
Only the rule that the file of cases is named after is run (for files in comments/: all that are on by default); what it
finds must be exactly what is marked.
`(torch 1.8)` in the heading lints for that version.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ddpdoctor.lint import engine, registry
from ddpdoctor.lint.registry import Registered
from ddpdoctor.lint.settings import Settings
from ddpdoctor.model.record import replace

CASES = Path(__file__).resolve().parents[2] / "lint_cases"
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


def _all() -> list[Case]:
    return [case for path in sorted(CASES.glob("DD*.md")) for case in cases(path)]


def _about_comments() -> list[Case]:
    return [case for path in sorted((CASES / "comments").glob("*.md")) for case in cases(path)]


@pytest.mark.parametrize("case", _all(), ids=lambda c: f"{c.code}: {c.title}")
def test_case(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _check(case, Settings(frozenset({case.code, "DD199"})), tmp_path, monkeypatch)


@pytest.mark.parametrize("case", _about_comments(), ids=lambda c: c.title)
def test_case_about_comments(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _check(case, Settings(registry.defaults(), hints=frozenset()), tmp_path, monkeypatch)


def _check(case: Case, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected: set[tuple[str, int, str, str]] = set()
    for name, lines in case.files.items():
        target = tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("\n".join(lines), encoding="utf-8")
        for number, line in enumerate(lines, start=1):
            for severity, code in _MARK.findall(line):
                expected.add((name, number, severity, code))
    monkeypatch.chdir(tmp_path)
    version = TORCH.search(case.title)
    if version is not None:
        settings = replace(settings, torch_version=(int(version[1]), int(version[2])))
    report = engine.lint(sorted(case.files), settings)
    found = {(f.file, f.line, f.severity.value, f.code) for f in report.findings}
    assert found == expected, "\n".join(f"{f.file}:{f.line} {f.code} {f.message}" for f in report.findings)


@pytest.mark.parametrize("entry", registry.registered(), ids=lambda e: e.rule.code)
def test_every_rule_has_cases_that_fire_and_more_that_stay_silent(entry: Registered) -> None:
    own = [c for c in _all() if c.code == entry.rule.code]
    firing = [c for c in own if any(_MARK.search(line) for lines in c.files.values() for line in lines)]
    assert len(firing) >= 2
    assert len(own) - len(firing) >= 2
    assert (CASES / f"{entry.rule.code}-{entry.rule.name}.md").exists()
