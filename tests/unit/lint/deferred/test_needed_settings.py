"""Which settings a line needs, or it does not run."""

from __future__ import annotations

import ast

import pytest

from ddpdoctor.lint.deferred.needed_settings import Settings, needed_at, option, setting
from ddpdoctor.program import source


def needed(program: str, line: int, values: dict[str, list[object]]) -> list[str]:
    known = {name: [ast.parse(repr(value), mode="eval").body for value in held] for name, held in values.items()}
    tree = source.tree_of(program.encode())
    assert tree is not None
    return [one.name for one in needed_at(tree, line, Settings(setting, lambda name: known.get(name, [])))]


@pytest.mark.parametrize(
    ("condition", "values", "off"),
    [
        ("config.sync_bn", [False], True),
        ("self.config.sync_bn and rank() == 0", [False, None], True),
        ("config.sync_bn", [False, True], False),
        ("config.sync_bn", [], False),
        ("config.sync_bn is not None", [False], False),
        ("not config.sync_bn", [False], False),
        ("config.sync_bn or config.apart", [False], False),
        ("not config.sync_bn", [True, "all"], True),
        ("not config.sync_bn", [True, False], False),
        ("not (config.sync_bn or apart)", [True], True),
        ("not (config.sync_bn and apart)", [True], False),
        ("not config.sync_bn > 0", [True], False),
        ("not config.sync_bn == 'all'", ["all"], True),
        ("not os.path.exists(config.sync_bn)", ["all"], False),
    ],
)
def test_a_setting_with_none_of_whose_values_a_line_runs(condition: str, values: list[object], off: bool) -> None:
    assert needed(f"if {condition}:\n    convert()\n", 2, {"sync_bn": values}) == (["sync_bn"] if off else [])


@pytest.mark.parametrize(
    ("text", "read", "in_command"),
    [
        ("args.ema", "ema", "ema"),
        ("self.args.ema", "ema", "ema"),
        ("cfg.TRAIN.EMA", "EMA", ""),
        ('opt["logger"]["project"]', "project", ""),
        ('config.get("fp8", False)', "fp8", ""),
        ('config.get("train").get("fp8")', "fp8", ""),
        ('opt[name]["project"]', "", ""),
        ("model.ema", "", ""),
        ("ema", "", ""),
        ("ema()", "", ""),
    ],
)
def test_what_an_expression_reads_of_the_settings(text: str, read: str, in_command: str) -> None:
    node = ast.parse(text, mode="eval").body
    assert (setting(node), option(node)) == (read, in_command)


#: with how the variable is given
HELD = """\
def train(args, loss):
    {given}
    if scaler is not None:
        scaler.unscale_(loss)
"""


@pytest.mark.parametrize(
    ("given", "off"),
    [
        ("scaler = GradScaler() if args.fp16 else None", True),
        ("scaler = None\n    if args.fp16:\n        scaler = GradScaler()", True),
        ("if args.fp16 and cuda():\n        scaler = GradScaler()\n    else:\n        scaler = None", True),
        ("scaler = GradScaler()", False),
        ("scaler = GradScaler() if args.fp32 else None", False),
        ("if args.fp16:\n        scaler = GradScaler()", False),
        ("scaler = None\n    if args.fp16:\n        scaler = One()\n    if args.fp32:\n        scaler = Two()", False),
        ("scaler = None\n    for scaler in args.fp16: pass", False),
    ],
)
def test_what_a_variable_holds_only_with_a_setting(given: str, off: bool) -> None:
    program = HELD.format(given=given)
    line = program.count("\n")
    assert needed(program, line, {"fp16": [False], "fp32": [True]}) == (["fp16"] if off else [])
