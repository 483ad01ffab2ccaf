"""What was measured: the commit, and a hash of the engine, by which it is known whether a result still counts."""

from __future__ import annotations

import functools
import hashlib
import subprocess
from pathlib import Path

import ddpdoctor

ROOT = Path(__file__).parents[1]
PACKAGE = Path(ddpdoctor.__file__).parent
#: a result counts as long as nothing has changed in these
ENGINE = ("probe", "collect", "observe", "diagnose")
#: what takes part in a measurement; results that are kept beside the programs do not
MEASURED = ("ddpdoctor", "fixtures", "tests/e2e", "benchmarks", ":!benchmarks/*.jsonl")


def engine() -> str:
    """A hash over the source of the engine, as it was when the runs began."""
    return digest(ENGINE)


@functools.cache
def digest(folders: tuple[str, ...]) -> str:
    """A hash over the source of some of the package's folders, as it was when it was first asked for."""
    hashed = hashlib.sha256()
    for path in sorted(path for folder in folders for path in (PACKAGE / folder).rglob("*.py")):
        hashed.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes())
    return hashed.hexdigest()[:12]


@functools.cache
def commit() -> str:
    """The commit that is measured, with a `+` if what runs was changed since; "" outside of a checkout."""
    try:
        told = _git("describe", "--always")
        changed = _git("diff-index", "--quiet", "HEAD", "--", *MEASURED).returncode
    except OSError:
        return ""
    return told.stdout.strip() + "+" * bool(told.stdout and changed)


def _git(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=False)
