"""No source, however mangled, makes lint fail; nor does any file of the standard library or site-packages."""

from __future__ import annotations

import random
import sysconfig
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddpdoctor.lint import registry
from ddpdoctor.lint.linter import Linter
from ddpdoctor.lint.settings import Settings

ALL = Settings(frozenset(registry.names()))
CASES = sorted((Path(__file__).resolve().parents[1] / "lint_cases").glob("DD*.md"))
LINES = sorted({line for path in CASES for line in path.read_text().split("\n") if line and not line.startswith("#")})


SWAPS = [("0", "1"), ("==", "!="), ("(", "(("), ("if ", "while "), (" = ", " += ")]


def _lint(raw: bytes) -> None:
    Linter(ALL).bytes("mutant.py", raw, named=True)


@given(st.binary(max_size=300))
def test_any_bytes(raw: bytes) -> None:
    _lint(raw)


@given(st.lists(st.sampled_from(LINES), max_size=25), st.integers(0, 3))
def test_lines_of_the_cases_in_any_order(lines: list[str], indent: int) -> None:
    _lint("\n".join(" " * indent * (i % 2) + line for i, line in enumerate(lines)).encode())


def _mutants(count: int, seed: int) -> list[bytes]:
    source = random.Random(seed)
    texts = [block.split("```")[0] for path in CASES for block in path.read_text().split("```python")[1:]]
    made = []
    for _ in range(count):
        lines = source.choice(texts).split("\n")[1:]
        for _ in range(source.randint(1, 4)):
            i, j = source.randrange(len(lines)), source.randrange(len(lines))
            action = source.randrange(4)
            if action == 0:
                lines[i], lines[j] = lines[j], lines[i]
            elif action == 1:
                lines.insert(i, lines[j])
            elif action == 2 and len(lines) > 1:
                del lines[i]
            else:
                lines[i] = lines[i].replace(*source.choice(SWAPS))
        made.append("\n".join(lines).encode())
    return made


def test_mutants_of_the_cases() -> None:
    for raw in _mutants(150, 7):
        _lint(raw)


def _files(name: str) -> list[Path]:
    """Python files of the standard library ("stdlib") or of the installed packages ("purelib")."""
    found = sorted(Path(sysconfig.get_path(name)).rglob("*.py"))
    return [p for p in found if name != "stdlib" or not {"site-packages", "dist-packages"} & set(p.parts)]


def test_a_sample_of_the_standard_library() -> None:
    linter = Linter(ALL)
    for path in _files("stdlib")[::500]:
        linter.file(str(path), named=True)


#: the sweep in parts, so that `-n` shares them out and `-v` shows how far it is
PARTS = 24
#: seconds of CPU for one file: ten times what the slowest takes
LONGEST = 30.0


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", ["stdlib", "purelib"])
def test_every_installed_file(name: str, part: int) -> None:
    files = _files(name)
    linter = Linter(ALL)
    for path in files[len(files) * part // PARTS : len(files) * (part + 1) // PARTS]:
        before = time.process_time()
        linter.file(str(path), named=True)
        assert time.process_time() - before < LONGEST, path


@pytest.mark.slow
def test_ten_thousand_mutants() -> None:
    for raw in _mutants(10_000, 11):
        _lint(raw)
