"""Every fixture is well-formed, and a malformed one is reported in one line."""

from __future__ import annotations

import ast
import dataclasses
import re
import sys
from pathlib import Path

import pytest

from ddpdoctor.cli.explain import pages, text_of
from ddpdoctor.diagnose import registry
from ddpdoctor.errors import InputError
from ddpdoctor.lint.registry import names as lint_rules
from ddpdoctor.model.diagnosis import Outcome
from ddpdoctor.model.ranks import RankSet
from ddpdoctor.repro import catalogue
from ddpdoctor.repro.case import Case, Harm
from ddpdoctor.repro.runner import missing, missing_packages

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[3]

CASES = catalogue.load_all(catalogue.root())

TOML = """code = "DD201"
name = "case"
summary = "Something."
ranks = 2
culprits = [1]
locate = "wait()"
deadlock = "proven"
outcome = "hang"
launcher = "torchrun"
backends = ["gloo", "nccl"]
seconds = 40
"""

HARM = """code = "DD101"
name = "case"
summary = "Something."
ranks = 2
locate = "wait()"
outcome = "harm"
measure = "samples seen"
harmed = [1, 7]
cured = [8, 8]
launcher = "torchrun"
lint = "DD101"
backends = ["gloo", "nccl"]
seconds = 40
"""


def _case(folder: Path, toml: str, program: str = "first()\nwait()\n") -> Path:
    folder = folder / "case"
    folder.mkdir()
    (folder / "fixture.toml").write_text(toml)
    (folder / "broken.py").write_text(program)
    return folder


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_fixture_belongs_to_a_diagnosis_or_a_lint_rule_that_exists(case: Case) -> None:
    known = set(lint_rules()) if case.harm else {registered.rule.code for registered in registry.RULES}
    assert case.code in known
    assert not case.harm or case.lint == case.code
    assert case.fixed.is_file()
    assert compile(case.fixed.read_text(), str(case.fixed), "exec")
    assert (case.outcome is Outcome.SLOW) <= (case.stall_after is not None)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_lint_rule_diagnosis_and_fixture_name_one_another(case: Case) -> None:
    finds = {registered.rule.code: registered.rule.lint for registered in registry.RULES}
    if case.lint and case.harm is None:
        assert case.lint in finds[case.code]


def test_a_diagnosis_without_a_lint_rule_says_so() -> None:
    texts = {page.code: text_of(page) for page in pages()}
    for registered in registry.RULES:
        told = "No lint rule finds it before the launch yet." in texts[registered.rule.code]
        assert told is not bool(registered.rule.lint)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_pages_of_its_diagnosis_and_its_lint_rule_name_a_case(case: Case) -> None:
    texts = {page.code: text_of(page) for page in pages()}
    for code in {case.code, case.lint} - {""}:
        (line,) = [line for line in texts[code].splitlines() if line.startswith("Reproduce it: ")]
        assert f"ddpdoctor repro run {case.name}" in line.removeprefix("Reproduce it: ").split(", ")


def test_every_diagnosis_has_a_fixture() -> None:
    """Except those that no program on CPUs can show."""
    shown = {registered.rule.code for registered in registry.RULES if registered.rule.reproduced}
    assert shown == {case.code for case in CASES if not case.harm}


def test_a_fixture_is_read(tmp_path: Path) -> None:
    case = catalogue.load(_case(tmp_path, TOML))
    assert (case.line, case.lint, case.needs, case.stall_after) == (2, "", "", None)
    assert (case.culprits_at(2), case.culprits_at(3)) == (RankSet.of([1]), None)


def test_the_packages_of_a_case_are_read(tmp_path: Path) -> None:
    case = catalogue.load(_case(tmp_path, TOML + 'packages = ["json", "no_such_package"]\n'))
    assert case.packages == case.needed == ("json", "no_such_package")
    assert missing_packages(case) == missing(case) == "needs no_such_package, which is not installed"
    assert missing_packages(dataclasses.replace(case, packages=("json",))) == ""


@pytest.mark.parametrize("case", [case for case in CASES if case.packages], ids=lambda case: case.name)
def test_what_a_case_imports_is_pinned_and_no_more(case: Case) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extra = project["project"]["optional-dependencies"]["frameworks"]
    pinned = {re.split(r"[\[=]", line)[0]: line.partition("==")[2] for line in extra}
    assert set(case.packages) <= pinned.keys()
    constraints = (ROOT / "constraints.txt").read_text().splitlines()
    assert {f"{package}=={pinned[package]}" for package in case.packages} <= set(constraints)
    for program in (case.broken, case.fixed):
        imported = {_package(node) for node in ast.walk(ast.parse(program.read_text()))}
        assert imported & pinned.keys() <= set(case.packages)


def _package(node: ast.AST) -> str:
    """The package that a statement imports, "" if it is no import."""
    if isinstance(node, ast.Import):
        return node.names[0].name.partition(".")[0]
    return (node.module or "").partition(".")[0] if isinstance(node, ast.ImportFrom) else ""


def test_each_framework_has_two_cases() -> None:
    for package in ("accelerate", "deepspeed", "lightning", "ray", "torchdata", "transformers"):
        assert sum(package in case.packages[:1] for case in CASES) >= 2, package


def test_other_numbers_of_ranks_have_their_own_culprits(tmp_path: Path) -> None:
    case = catalogue.load(_case(tmp_path, TOML + "elsewhere = { 4 = [2, 3], 6 = [] }\n"))
    assert [case.culprits_at(ranks) for ranks in (2, 4, 6)] == [RankSet.of([1]), RankSet.of([2, 3]), RankSet()]


def test_a_fixture_of_harm_is_read(tmp_path: Path) -> None:
    case = catalogue.load(_case(tmp_path, HARM))
    assert case.harm == Harm("samples seen", (1, 7), (8, 8), fails=False)
    assert (case.expected_ending, case.outcome, len(case.culprits)) == ("harm", Outcome.HEALTHY, 0)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('measure = "samples seen"\n', "", "'measure' is missing"),
        ("[1, 7]", "[7, 1]", "'harmed' must be the least and the greatest whole number, found [7, 1]"),
        ("[8, 8]", '["8", 8]', "'cured' must be the least and the greatest whole number"),
        ("seconds = 40", 'seconds = 40\ndeadlock = "no"', "'deadlock' is not a key"),
        ('"harm"', '"hang"', "'cured' is not a key"),
    ],
)
def test_the_fault_of_a_fixture_of_harm_is_named(tmp_path: Path, old: str, new: str, fault: str) -> None:
    with pytest.raises(InputError) as caught:
        catalogue.load(_case(tmp_path, HARM.replace(old, new)))
    assert fault in caught.value.message


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('code = "DD201"\n', "", "'code' is missing"),
        ('"DD201"', '"D201"', "'code' must be a code such as DD201, found 'D201'"),
        ('name = "case"', 'name = "other"', "'name' must be the folder's name, 'case'"),
        ("ranks = 2", 'ranks = "2"', "'ranks' must be a int, found '2'"),
        ("culprits = [1]", "culprits = [2]", "'culprits' must be a list of ranks below 2, found [2]"),
        ('"wait()"', '"()"', "'locate' must be the text of one line of broken.py; 2 lines contain it"),
        ('"proven"', '"sure"', "'deadlock' is 'sure'; it can be 'proven', 'suspected', 'no'"),
        ("seconds = 40", "seconds = 40\nsometimes_proven = 1", "'sometimes_proven' must be true or false, found 1"),
        ('"torchrun"', '"mpirun"', "'launcher' is 'mpirun'"),
        (
            "seconds = 40",
            "seconds = 40\nelsewhere = { 3 = [3] }",
            "'elsewhere' must be a list of ranks below 3, found [3]",
        ),
        ("seconds = 40", "seconds = 40\nelsewhere = { 3 = 1 }", "'elsewhere' must give a list of ranks for a number"),
        ("seconds = 40", "secs = 40", "'secs' is not a key"),
        ("seconds = 40", 'seconds = 40\npackages = ["ray[train]"]', "'packages' must be a list of names of packages"),
        ('["gloo", "nccl"]', '["mpi"]', "'backends' must be some of gloo, nccl, found ['mpi']"),
        ('["gloo", "nccl"]', '["gloo", "gloo"]', "'backends' must be some of gloo, nccl, found ['gloo', 'gloo']"),
        ('["gloo", "nccl"]', '["gloo"]', "'only_because' states why there is one backend only, and nothing else"),
        ("seconds = 40", 'seconds = 40\nonly_because = "So."', "'only_because' states why there is one backend only"),
        ("seconds = 40", 'seconds = 40\nnccl_differs = ["speed"]', "'nccl_differs' must be some of outcome, "),
        ("seconds = 40", "seconds =", "fixture.toml: "),
    ],
)
def test_the_fault_is_named(tmp_path: Path, old: str, new: str, fault: str) -> None:
    with pytest.raises(InputError) as caught:
        catalogue.load(_case(tmp_path, TOML.replace(old, new)))
    assert fault in caught.value.message
    assert "fixture.toml" in caught.value.message


def test_a_fixture_without_its_program(tmp_path: Path) -> None:
    folder = _case(tmp_path, TOML)
    (folder / "broken.py").unlink()
    with pytest.raises(InputError, match=r"broken\.py"):
        catalogue.load(folder)
