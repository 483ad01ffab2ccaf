"""The manual pages: one for each command, with every option, without a complaint of troff, and in the wheel."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from ddpdoctor.cli import completion, main
from docs import manual

ROOT = Path(__file__).parents[2]
PAGES = manual.pages("2026-01-31")
#: each reads a page, and complains on the stream that is named
LINTERS = {
    "groff": (["groff", "-man", "-ww", "-Tutf8", "-z"], "stderr"),
    "mandoc": (["mandoc", "-T", "lint", "-W", "warning"], "stdout"),
}


def test_every_command_has_a_page() -> None:
    assert set(PAGES) == {"ddpdoctor.1", *(f"ddpdoctor-{name}.1" for name in main.COMMANDS)}


@pytest.mark.parametrize("command", completion.commands(), ids=lambda command: " ".join(command.words) or "ddpdoctor")
def test_a_page_names_every_option(command: completion.Command) -> None:
    page = PAGES["-".join(("ddpdoctor", *command.words[:1])) + ".1"].replace("\\-", "-")
    assert [s for option in command.options for s in option.spellings if f"\\fB{s}\\fR" not in page] == []


def test_epilogs_become_sections() -> None:
    page = PAGES["ddpdoctor-watch.1"]
    examples, _, statuses = page.partition(".SH EXAMPLES\n")[2].partition(".SH EXIT STATUS\n")
    assert "  ddpdoctor watch \\-\\- torchrun" in examples
    assert "  125  ddpdoctor itself failed" in statuses
    assert "Ctrl\\-\\e (SIGQUIT) inspects the job now" in page.partition(".SH OPTIONS")[0]


def test_what_troff_would_take_for_something_else_is_escaped() -> None:
    assert manual._text(r".it's  a-\~^`") == r"\&.it\(aqs a\-\e\(ti\(ha\(ga"


@pytest.mark.parametrize("linter", LINTERS)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_in_order(name: str, linter: str, tmp_path: Path) -> None:
    command, stream = LINTERS[linter]
    if shutil.which(linter) is None:
        pytest.skip(f"needs {linter} on the PATH")
    path = tmp_path / name
    path.write_text(PAGES[name], encoding="utf-8")
    ended = subprocess.run([*command, path], capture_output=True, text=True, timeout=60)
    assert getattr(ended, stream) == ""


def test_the_wheel_contains_them(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="needs the extra `dev`: pip install '.[dev]'")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    ended = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        found = {name.partition(".data/data/")[2]: name for name in packed.namelist() if ".data/data/" in name}
        installed = {
            *(f"share/man/man1/{name}" for name in PAGES),
            "share/bash-completion/completions/ddpdoctor",
            "share/zsh/site-functions/_ddpdoctor",
            "share/fish/vendor_completions.d/ddpdoctor.fish",
        }
        assert set(found) == installed
        bash = packed.read(found["share/bash-completion/completions/ddpdoctor"]).decode()
        assert bash == completion.bash(completion.commands())
        assert b"report which rank breaks it" in packed.read(found["share/man/man1/ddpdoctor-watch.1"])
