"""Settings: selection of rules, per-file ignores, excluded paths; from pyproject and the command line. Pure."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping
from typing import Any

from ddpdoctor.errors import UsageError
from ddpdoctor.lint.own_rules import UNREADABLE
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.model.record import field, record

DEFAULT_EXCLUDES = (
    ".git", ".hg", ".svn", ".tox", ".nox", ".venv", "venv", ".mypy_cache", ".ruff_cache", ".pytest_cache",
    "__pycache__", "node_modules", ".eggs", "__pypackages__", ".ipynb_checkpoints",
)  # fmt: skip

_KEYS = ("select", "ignore", "extend-select", "per-file-ignores", "exclude", "torch-version")


@record(frozen=True, slots=True)
class Settings:
    """Which codes run, and for which files they do not."""

    codes: frozenset[str]
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    exclude: tuple[str, ...] = DEFAULT_EXCLUDES
    torch_version: tuple[int, ...] = (2, 13)
    #: those of `codes` whose hints are reported as well; None for all. A rule of warnings may also give hints
    hints: frozenset[str] | None = None
    #: exclude files even if the user named them, because pre-commit names every file
    force_exclude: bool = False

    def shows(self, finding: Finding) -> bool:
        """Whether a finding of its severity is reported."""
        return finding.severity is not Severity.HINT or self.hints is None or finding.code in self.hints


def choose(
    known: Mapping[str, str],
    defaults: Iterable[str],
    *,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    extend: Iterable[str] = (),
) -> frozenset[str]:
    """Codes to run. `known` maps code to name; a selector is a code, a prefix of one, a name, or ALL.

    Unreadable files are reported whatever is selected, because their content is unknown, which is not the same as no
    findings. Raises UsageError for a selector that matches nothing.
    """
    chosen = set(defaults) if not list(select) else _expand(known, select) | {UNREADABLE.code}
    chosen |= _expand(known, extend)
    return frozenset(chosen - _expand(known, ignore))


def asked_for(known: Mapping[str, str], *selections: Iterable[str]) -> frozenset[str]:
    """Codes that the user selected, rather than the default ones: their hints are reported."""
    return frozenset(code for selection in selections for code in _expand(known, selection))


def _expand(known: Mapping[str, str], selectors: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for selector in selectors:
        wanted = selector.strip()
        upper = wanted.upper()
        fits = {c for c, name in known.items() if upper == "ALL" or c.startswith(upper) or name == wanted.lower()}
        if not fits or not wanted:
            hint = _meant(wanted, (*known, *known.values())) or "`ddpdoctor explain --all` lists every rule"
            raise UsageError(f"no lint rule is called {selector!r}", hint=hint)
        found |= fits
    return found


def from_pyproject(table: Any, known: Mapping[str, str]) -> dict[str, Any]:
    """The checked contents of `[tool.ddpdoctor.lint]`. Raises UsageError with the faulty key."""
    if not isinstance(table, dict):
        raise UsageError("lint is not a table")
    for key, value in table.items():
        if key not in _KEYS:
            raise UsageError(f"there is no key {key!r}", hint=_meant(key, _KEYS) or f"keys: {', '.join(_KEYS)}")
        if key == "torch-version":
            # 2.10 without quotes is the number 2.1
            if not isinstance(value, str):
                raise UsageError(f"{key} must be a string", hint='write for example torch-version = "2.10"')
            torch_version(value)
        else:
            _expand(known, _selectors(key, value))
    return table


def _selectors(key: str, value: Any) -> list[str]:
    """The codes and names that the value of a key selects rules by. Raises UsageError where it is of another type."""
    if key == "per-file-ignores":
        if not isinstance(value, dict) or not all(map(_is_texts, value.values())):
            raise UsageError(f"{key} must be a table of patterns with a list of codes each")
        return [selector for listed in value.values() for selector in listed]
    if not _is_texts(value):
        raise UsageError(f"{key} must be a list of strings")
    return [] if key == "exclude" else list(value)


def _meant(word: str, known: Iterable[str]) -> str:
    """A hint with the name that was probably meant, "" if no name is similar."""
    import difflib

    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.7)
    return f"did you mean {near[0]!r}?" if near else ""


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) and v.strip() for v in value)


def torch_version(text: str) -> tuple[int, ...]:
    """`2.4` or `2.13.0+cpu` as numbers; raises UsageError for anything else."""
    parts = text.partition("+")[0].split(".")
    if len(parts) < 2 or not all(p.isdigit() for p in parts[:2]):
        raise UsageError(f"{text!r} is not a torch version", hint="write for example --torch-version 2.4")
    return tuple(int(p) for p in parts if p.isdigit())


def ignored_here(settings: Settings, path: str, known: Mapping[str, str]) -> set[str]:
    """Codes that per-file-ignores suppress for a path (relative to the pyproject, with forward slashes)."""
    codes: set[str] = set()
    for pattern, selectors in settings.per_file_ignores.items():
        if matches(path, pattern):
            codes |= _expand(known, selectors)
    return codes


def matches(path: str, pattern: str) -> bool:
    """Whether a glob matches the whole path, its end, or any single part."""
    normal = path.replace("\\", "/")
    if fnmatch.fnmatch(normal, pattern) or fnmatch.fnmatch(normal, f"*/{pattern}"):
        return True
    if "/" in pattern:
        return fnmatch.fnmatch(f"/{normal}", pattern)
    return any(fnmatch.fnmatch(part, pattern) for part in normal.split("/"))
