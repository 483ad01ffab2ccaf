"""The scripts do what a person who presses Tab expects, in the shells that are installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from ddpdoctor.cli import completion, main


def _tab(script: Path, *words: str) -> list[str]:
    """What bash offers for the last word."""
    line = " ".join(f"'{word}'" for word in ("ddpdoctor", *words))
    asked = (
        f'source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words)}; _ddpdoctor; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True, cwd=script.parent)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.fixture
def script(tmp_path: Path) -> Path:
    if shutil.which("bash") is None:
        pytest.skip("needs bash")
    path = tmp_path / "ddpdoctor.bash"
    path.write_text(completion.bash(completion.commands()))
    (tmp_path / "train.py").touch()
    return path


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["rep"], ["report", "repro"]),
        (["wat"], ["watch"]),
        (["watch", "--on"], ["--on-desync", "--on-hang"]),
        (["repro", "r"], ["run"]),
        (["repro", "run", "--ba"], ["--backend"]),
        (["repro", "run", "--backend", ""], ["gloo", "nccl"]),
        (["completion", "f"], ["fish"]),
        (["config", ""], ["show", "-f", "--format", "-h", "--help", "--json"]),
        (["watch", "--", "tr"], ["train.py"]),
        (["lint", "tr"], ["train.py"]),
    ],
)
def test_bash_completes(script: Path, words: list[str], offered: list[str]) -> None:
    assert sorted(_tab(script, *words)) == sorted(offered)


def test_every_command_and_option_is_known() -> None:
    found = {command.words: command for command in completion.commands()}
    assert set(found[()].following) == set(main.COMMANDS)
    assert {(name,) for name in main.COMMANDS} < set(found)
    assert ("repro", "run") in found
    assert "--notify-url" in {spelling for option in found[("watch",)].options for spelling in option.spellings}
    assert "--no-quiet" not in {spelling for option in found[("watch",)].options for spelling in option.spellings}


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_a_script_is_valid_in_its_shell(shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["completion", shell]) == 0
    script = tmp_path / "script"
    script.write_text(capsys.readouterr().out)
    assert "ddpdoctor" in script.read_text()
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")
    assert subprocess.run([shell, "-n", str(script)], capture_output=True, check=False).returncode == 0


def test_fish_quotes_what_it_describes() -> None:
    option = completion.Option(("--x", "-x"), "it's a \\", takes_value=True)
    assert completion._of_fish(option) == "-l x -s x -r -d 'it\\'s a \\\\'"
