"""docs/lint.md agrees with the program: its limits, options and formats."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ddpdoctor.cli import lint_output, main
from ddpdoctor.lint.interpreter import budgets
from ddpdoctor.lint.ranks import compare
from ddpdoctor.program import project, source

PAGE = (Path(__file__).parents[3] / "docs" / "lint.md").read_text(encoding="utf-8")
LIMITS = PAGE.partition("## Limits\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize(
    "limit",
    [
        source.LARGEST, project.FOLLOWED, budgets.STATEMENTS, budgets.REPEATED, budgets.DEPTH, compare.COMPARED,
        budgets.ELEMENTS, budgets.LEAVES,
    ],
)  # fmt: skip
def test_the_limits_are_those_of_the_program(limit: int) -> None:
    assert re.search(rf"(?<![\d,]){limit:,}(?!\d|,\d)", LIMITS)


def test_every_option_and_format_is_described() -> None:
    options = {o for action in main.parser_of("lint")._actions for o in action.option_strings if o.startswith("--")}
    assert [o for o in sorted(options - {"--help"}) if o not in PAGE] == []
    assert [f for f in lint_output.FORMATS if f"`{f}`" not in PAGE] == []
