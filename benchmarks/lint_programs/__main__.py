"""Which known faults lint finds in programs of authors who had not seen its rules: `make lint-programs`.

Each program of a set has one fault, which `fix.patch` mends. Found is what lint tells before, and not after: by
default, or as a hint only. What it tells by default of a mended program is listed as well: it is false, or a second
fault.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent
#: seconds for one program
LIMIT = 120.0


class Found(Enum):
    """What lint tells of the fault of a program."""

    BY_DEFAULT = "found"
    AS_A_HINT = "hint"
    NOT = "missed"


class Told(NamedTuple):
    """A finding, as it is the same before and after lines have moved."""

    code: str
    file: str
    message: str
    severity: str


class Linted(NamedTuple):
    """A program, what is told of its fault, and what is told by default once it is mended."""

    name: str
    case: dict[str, Any]
    found: Found
    codes: tuple[str, ...]
    after: tuple[Told, ...]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=["set_1"], metavar="SET", help="default: set_1")
    parser.add_argument("--jobs", type=int, default=2, help="programs that are linted at a time")
    args = parser.parse_args()
    for name in args.sets:
        programs = sorted(folder.parent for folder in (HERE / name).glob("*/case.toml"))
        if not programs:
            print(f"{HERE / name}: no such set", file=sys.stderr)
            return 2
        with ThreadPoolExecutor(args.jobs) as pool:
            linted = list(pool.map(lint_both, programs))
        print(f"{name}: {len(linted)} programs")
        print("\n".join(_rows(linted)))
    return 0


def lint_both(folder: Path) -> Linted:
    """Lint a program, mend it, and lint it again."""
    case = tomllib.loads((folder / "case.toml").read_text())
    with tempfile.TemporaryDirectory() as place:
        program = Path(place) / "program"
        shutil.copytree(folder / "program", program)
        # scripts and texts of a repository tell how its programs are started
        _run(["git", "init", "--quiet"], program)
        before = lint(program)
        _run(["git", "apply", str(folder / "fix.patch")], program)
        after = lint(program)
    gone = before - after
    shown = {told for told in gone if told.severity != "hint"}
    found = Found.BY_DEFAULT if shown else Found.AS_A_HINT if gone else Found.NOT
    codes = tuple(sorted({told.code for told in shown or gone}))
    return Linted(folder.name, case, found, codes, tuple(sorted(told for told in after if told.severity != "hint")))


def lint(program: Path) -> set[Told]:
    """All findings in a folder, hints as well."""
    command = [sys.executable, "-m", "ddpdoctor", "lint", "--no-cache", "--jobs", "1", "--extend-select", "ALL"]
    run = subprocess.run(
        [*command, "--json", "-", "."], cwd=program, capture_output=True, text=True, timeout=LIMIT, check=False
    )
    if run.returncode not in (0, 1):
        raise RuntimeError(f"{program}: {run.stderr}")
    found = json.loads(run.stdout)
    return {Told(f["code"], f["file"], re.sub(r"\d+", "#", f["message"]), f["severity"]) for f in found}


def _run(command: list[str], folder: Path) -> None:
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def _rows(linted: list[Linted]) -> Iterator[str]:
    for one in linted:
        yield f"{one.found.value:7} {one.case['level']:7} {one.case['effect']:14} {one.name:26} {' '.join(one.codes)}"
        yield from (f"        also {told.severity} {told.code} {told.file}: {told.message}" for told in one.after)
    for level in ("easy", "middle", "hard"):
        some = Counter(one.found for one in linted if one.case["level"] == level)
        yield f"{level}: " + ", ".join(f"{some[found]} {found.value}" for found in Found)


if __name__ == "__main__":
    sys.exit(main())
