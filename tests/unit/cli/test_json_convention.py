"""One convention over all commands: `--json FILE` writes a file, `-` is standard output, `-f` chooses what it shows."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from ddpdoctor.cli import main

#: commands whose result needs no job, and what their text begins with
QUICK = {
    ("config", "show"): "stall-after",
    ("explain", "DD201"): "# DD201 uneven-inputs",
    ("repro", "list"): "DD",
    ("repro", "show", "uneven-inputs"): '"""',
}


@pytest.mark.parametrize("argv", QUICK, ids=" ".join)
def test_a_file_beside_the_text(argv: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "result.json"
    assert main.main([*argv, "--json", str(file)]) == 0
    assert capsys.readouterr().out.startswith(QUICK[argv])
    written = json.loads(file.read_text())
    assert written
    for alone in (["--json", "-"], ["-f", "json"], ["-f", "json", "--json", "-"]):
        assert main.main([*argv, *alone]) == 0
        assert json.loads(capsys.readouterr().out) == written, alone
    file.unlink()
    assert main.main([*argv, "-f", "json", "--json", str(file)]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(file.read_text()) == written


def test_json_alone_is_standard_output_in_repro_as_ever(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["repro", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert main.main(["repro", "show", "--json", "uneven-inputs"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["name"] == "uneven-inputs"
    assert "init_process_group" in shown.pop("program")
    assert shown in listed


def test_a_case_must_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["repro", "run", "--json"]) == 2
    assert "no case named" in capsys.readouterr().err


def test_every_command_with_a_result_has_both_options() -> None:
    for name in main.COMMANDS:
        for parser in _parsers(main.parser_of(name)):
            options = {option for action in parser._actions for option in action.option_strings}
            # `watch` shows its verdict on the screen, a completion is a script
            assert name == "completion" or "--json" in options or _has_parts(parser), parser.prog
            assert name in ("completion", "watch") or "-f" in options or _has_parts(parser), parser.prog


def _parsers(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    parts = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return [parser, *(one for part in parts for one in part.choices.values())]


def _has_parts(parser: argparse.ArgumentParser) -> bool:
    return any(isinstance(action, argparse._SubParsersAction) for action in parser._actions)
