"""The command line as a user sees it: help, mistakes, failures, and start-up time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ddpdoctor.cli import crash_report, main
from ddpdoctor.cli.main import COMMANDS


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["wach"], "unknown command 'wach' - did you mean `ddpdoctor watch`?"),
        (["xyzzy"], "unknown command 'xyzzy' - commands are watch, dump, diagnose, report, lint, check, repro"),
        (["--versoin"], "unknown option '--versoin' - did you mean `--version`?"),
        (["watch", "torchrun", "train.py"], "type `ddpdoctor watch -- torchrun train.py`"),
        (["watch"], "no `--` before the command to watch - type `ddpdoctor watch -- torchrun ...`"),
        (["watch", "--"], "no command after `--`"),
        (["watch", "--stall", "9", "--", "true"], "unknown option '--stall'"),
        (["watch", "--stall-after", "soon", "--", "true"], "--stall-after"),
        (["diagnose"], "the following arguments are required: PATH"),
        (["diagnose", "/nonexistent/bundle"], "/nonexistent/bundle"),
        (["repro", "run", "uneven"], "no case is called 'uneven' - did you mean `uneven-inputs`?"),
        (["repro", "run", "uneven-inputs", "--ranks", "0"], "'0' is not a number of 1 or more"),
        (
            ["explain", "unevn-input"],
            "no rule is called 'unevn-input' - did you mean `ddpdoctor explain uneven-inputs`?",
        ),
        (["explain", "dd27"], "no rule is called 'dd27' - matching codes are DD271, DD272, DD273"),
        (["explain", "DD999"], "no rule is called 'DD999' - did you mean `ddpdoctor explain DD299`?"),
        (["explain"], "no code to explain"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_type(
    argv: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main(argv) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("ddpdoctor: error: ")
    assert captured.err.count("\n") == 1
    assert said in captured.err


@pytest.mark.parametrize(("command", "status"), [("/nonexistent/train", 127), (str(Path(__file__)), 126)])
def test_a_command_that_cannot_start(command: str, status: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["watch", "--", command]) == status
    assert command in capsys.readouterr().err


@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_ends_with_examples_and_exit_statuses(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main([name, "--help"]) == 0
    said = capsys.readouterr().out
    examples, _, statuses = said.partition("examples:\n")[2].partition("exit status:\n")
    assert examples.count(f"ddpdoctor {name}") >= 2
    assert "  0" in statuses or "the command's own" in statuses


def test_help_without_a_command_is_unusable_and_with_an_option_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main([]) == 2
    nothing = capsys.readouterr().out
    assert main.main(["--help"]) == 0
    assert capsys.readouterr().out == nothing
    assert all(name in nothing for name in COMMANDS)


def test_options_behind_the_dashes_belong_to_the_command(capfd: pytest.CaptureFixture[str]) -> None:
    script = "import sys; print(sys.argv[1:])"
    assert main.main(["watch", "--quiet", "--", sys.executable, "-c", script, "--help", "--", "--json"]) == 0
    assert capfd.readouterr().out == "['--help', '--', '--json']\n"


def test_an_unexpected_error_leaves_a_report_to_paste(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("ddpdoctor.cli.explain.run", lambda args: 1 // 0)
    assert main.main(["explain", "--all"]) == 125
    said = capsys.readouterr().err
    assert said.startswith("ddpdoctor: internal error: ZeroDivisionError: ")
    (report,) = tmp_path.iterdir()
    assert str(report) in said
    assert report.stat().st_mode & 0o777 == 0o600
    assert "ZeroDivisionError" in report.read_text()


def test_the_failure_report_holds_no_argument_that_may_be_secret(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    crash_report.describe(
        ValueError("x"), ["watch", "--json=/secret", "--bundle", "hush", "--", "train", "--token=hush"]
    )
    (report,) = tmp_path.iterdir()
    assert "command ddpdoctor watch --json --bundle\n" in report.read_text()
    assert "hush" not in report.read_text()


def test_ctrl_c_is_status_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(args: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("ddpdoctor.cli.explain.run", interrupted)
    assert main.main(["explain", "--all"]) == 130


def test_a_reader_that_leaves_early_is_no_error() -> None:
    script = f"{sys.executable} -m ddpdoctor explain --all | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.returncode in (0, 141), "0 where everything was written before the reader left"


@pytest.mark.parametrize(
    "argv",
    [["--version"], ["--help"], ["watch", "--help"], ["lint", "--help"], ["repro", "list"], ["explain", "DD201"]],
)
def test_what_is_heavy_is_not_imported_for_what_is_light(argv: list[str]) -> None:
    script = (
        "import sys; from ddpdoctor.cli.main import main; status = main(sys.argv[1:]); "
        "heavy = {'rich', 'psutil', 'torch', 'numpy'} & set(sys.modules); "
        "print(heavy or '', file=sys.stderr); sys.exit(status)"
    )
    done = subprocess.run([sys.executable, "-c", script, *argv], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (0, "")


def test_python_dash_m_is_the_same_program() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ddpdoctor", "--version"], capture_output=True, text=True, check=True, cwd=os.sep
    )
    assert done.stdout.startswith("ddpdoctor ")
