"""Codes and names: every lint rule's name differs from every diagnosis', and the pre-commit hook is what it says."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from ddpdoctor.checkup import registry as checks
from ddpdoctor.cli import explain
from ddpdoctor.cli import lint as command_line
from ddpdoctor.cli.main import COMMANDS
from ddpdoctor.diagnose import registry as diagnoses
from ddpdoctor.lint import registry as lint

ROOT = Path(__file__).parents[2]


def test_no_rule_diagnosis_or_check_has_the_name_of_another() -> None:
    mine = lint.names()
    theirs = {registered.rule.code: registered.rule.name for registered in diagnoses.RULES}
    machine = {registered.check.code: registered.check.name for registered in checks.CHECKS}
    assert len({*mine.values(), *theirs.values(), *machine.values()}) == len(mine) + len(theirs) + len(machine)
    assert all(re.fullmatch(r"DD1\d\d", code) for code in mine)
    assert all(re.fullmatch(r"DD2\d\d", code) for code in theirs)


def test_every_code_that_lint_can_give_is_explained() -> None:
    explained = {page.code: page for page in explain.pages()}
    for code, name in lint.names().items():
        assert explained[code].name == name
        for section in ("## What it does", "## Why it h", "## Example", "## Use instead", "## When it is wrong"):
            assert section in explained[code].text, (code, section)


def test_a_diagnosis_names_lint_rules_that_exist() -> None:
    named = {code for registered in diagnoses.RULES for code in registered.rule.lint}
    assert named <= set(lint.names())


def test_the_pre_commit_hook_is_a_command_that_exists() -> None:
    """One hook, flat keys: read without a YAML parser, which is not a dependency."""
    text = (ROOT / ".pre-commit-hooks.yaml").read_text()
    hook = dict(line.removeprefix("- ").strip().split(": ", 1) for line in text.splitlines())
    assert set(hook) >= {"id", "name", "description", "entry", "language", "types_or"}
    program, command, *options = hook["entry"].split()
    assert program == "ddpdoctor"
    assert command in COMMANDS
    parser = argparse.ArgumentParser()
    command_line.add_arguments(parser)
    assert parser.parse_args([*options, "train.py"]).paths == ["train.py"]
    assert hook["language"] == "python"
    assert f"id: {hook['id']}" in (ROOT / "docs" / "lint.md").read_text()
