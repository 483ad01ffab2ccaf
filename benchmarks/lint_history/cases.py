"""The cases: fixes from public histories and traps, as facts in TOML files. Pure, but for the two readers."""

from __future__ import annotations

import dataclasses
import hashlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Half = Literal["learn", "measure"]
HALVES: tuple[Half, Half] = ("learn", "measure")
FOLDER = Path(__file__).parent


class CaseError(Exception):
    """A file of cases that cannot be read; the message names it and the record."""


@dataclasses.dataclass(frozen=True, slots=True)
class Fix:
    """One fault that its authors fixed: where it was, and which rules may tell it."""

    #: owner/name
    repository: str
    #: the commit that fixed it, and its parent, where the fault still is
    commit: str
    parent: str
    path: str
    #: lines of the parent where the fault is
    lines: tuple[int, ...]
    rule: str
    #: what was wrong, in a sentence of our own
    fault: str
    #: other rules that may tell the same fault
    siblings: tuple[str, ...] = ()
    #: places in other files of the parent where a finding counts as well, `path:line`
    elsewhere: tuple[str, ...] = ()
    #: why the case is no fair one: nothing in the repository shows the fault, or no rule is about it; "" for a fair one
    unfair: str = ""
    #: what of the fault is left after the fix; the case does not count for silence then
    unfinished: str = ""

    @property
    def key(self) -> str:
        return f"{self.repository}@{self.commit[:10]} {self.path}:{self.lines[0]} {self.rule}"

    @property
    def rules(self) -> tuple[str, ...]:
        return (self.rule, *self.siblings)


@dataclasses.dataclass(frozen=True, slots=True)
class Trap:
    """A place that looks like a fault and is none: these rules must be silent there."""

    repository: str
    commit: str
    path: str
    line: int
    rules: tuple[str, ...]
    why: str

    @property
    def key(self) -> str:
        return f"{self.repository}@{self.commit[:10]} {self.path}:{self.line} {','.join(self.rules)}"


def half_of(repository: str) -> Half:
    """The half to which a repository belongs: by the hash of its name, so that nobody chooses."""
    return HALVES[hashlib.sha256(repository.lower().encode()).digest()[0] % 2]


def read_fixes(half: Half) -> tuple[Fix, ...]:
    """The fixes of one half, in the order of the file. Raises CaseError."""
    path = FOLDER / f"{half}.toml"
    fixes = tuple(_fix(path, record) for record in _records(path, "fix"))
    for fix in fixes:
        if half_of(fix.repository) != half:
            raise CaseError(f"{path.name}: {fix.key} belongs to the other half")
    return fixes


def read_traps() -> tuple[Trap, ...]:
    """All traps, in the order of the file. Raises CaseError."""
    path = FOLDER / "traps.toml"
    return tuple(_trap(path, record) for record in _records(path, "trap"))


def _records(path: Path, table: str) -> list[Mapping[str, Any]]:
    try:
        records = tomllib.loads(path.read_text(encoding="utf-8")).get(table, [])
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CaseError(f"{path.name}: {error}") from error
    return list(records)


def _fix(path: Path, record: Mapping[str, Any]) -> Fix:
    many = ("lines", "siblings", "elsewhere")
    return Fix(**_checked(path, record, {field.name for field in dataclasses.fields(Fix)}, many))


def _trap(path: Path, record: Mapping[str, Any]) -> Trap:
    return Trap(**_checked(path, record, {field.name for field in dataclasses.fields(Trap)}, ("rules",)))


def _checked(path: Path, record: Mapping[str, Any], known: set[str], many: tuple[str, ...]) -> dict[str, Any]:
    """The record's values, its lists as tuples. An unknown or missing key is an error that names the record."""
    if unknown := sorted(set(record) - known):
        raise CaseError(f"{path.name}: unknown key {unknown[0]!r} in {dict(record)}")
    needed = known - {"siblings", "elsewhere", "unfair", "unfinished"}
    if missing := sorted(needed - set(record)):
        raise CaseError(f"{path.name}: no {missing[0]!r} in {dict(record)}")
    return {name: tuple(value) if name in many else value for name, value in record.items()}
