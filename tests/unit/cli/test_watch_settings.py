"""Where a setting of `watch` comes from, and what a project's file cannot do."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from ddpdoctor.cli import main, options, watch, watch_settings
from ddpdoctor.errors import UsageError
from ddpdoctor.launch.environment import TorchVersion, plan


def _project(folder: Path, *lines: str) -> Path:
    (folder / "pyproject.toml").write_text("\n".join(["[tool.ddpdoctor.watch]", *lines]))
    return folder


def _origins(environ: dict[str, str], folder: Path) -> dict[str, tuple[object, str]]:
    return {one.setting.name: (one.value, one.origin) for one in watch_settings.resolve(environ, folder)}


def test_variables_come_before_the_file_and_this_before_defaults(tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    file = str(_project(tmp_path, 'stall-after = "7m"', "quiet = true", 'on-hang = "stop"') / "pyproject.toml")
    found = _origins({"DDPDOCTOR_STALL_AFTER": "9m", "DDPDOCTOR_QUIET": "0"}, below)
    assert found["stall-after"] == ("9m", "DDPDOCTOR_STALL_AFTER")
    assert found["quiet"] == (False, "DDPDOCTOR_QUIET")
    assert found["on-hang"] == ("stop", file)
    assert found["native"] == (False, "default")


def test_options_come_before_everything(tmp_path: Path) -> None:
    _project(tmp_path, 'stall-after = "7m"', "quiet = true", "no-probe = true")
    parser = main.parser_of("watch")
    parser.set_defaults(**watch_settings.defaults({"DDPDOCTOR_JSON": "a.json"}, tmp_path))
    args = options.parse(parser, ["--stall-after", "1m", "--no-quiet"])
    assert (args.stall_after, args.quiet, args.no_probe, args.json) == ("1m", False, True, Path("a.json"))


@pytest.mark.parametrize(
    ("environ", "typed", "live"),
    [
        ({}, (), "line"),
        ({}, ("--live",), "table"),
        ({}, ("--no-live",), "off"),
        ({"DDPDOCTOR_LIVE": "off"}, (), "off"),
        ({"DDPDOCTOR_LIVE": "off"}, ("--live",), "table"),
    ],
)
def test_what_is_shown_of_a_running_job(
    environ: dict[str, str], typed: tuple[str, ...], live: str, tmp_path: Path
) -> None:
    parser = main.parser_of("watch")
    parser.set_defaults(**watch_settings.defaults(environ, tmp_path))
    assert options.parse(parser, list(typed)).live == live


def test_a_word_that_means_nothing_is_said_before_the_job_starts(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DDPDOCTOR_LIVE", "tabel")
    assert main.main(["watch", "--", sys.executable, "-c", "print('started')"]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert "live = tabel: it is none of line, table, off" in err


def test_every_setting_is_an_option_with_the_same_default() -> None:
    parser = main.parser_of("watch")
    for setting in watch_settings.SETTINGS:
        assert parser.get_default(setting.attribute) == setting.default
        assert f"--{setting.name}" in parser._option_string_actions
    assert watch.__doc__


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('on-hang = "./page.sh"', "cannot set on-hang to anything but report or stop"),
        ('notify-url = "https://evil.example"', "a project cannot set notify-url"),
        ('json = "/home/ada/.bashrc"', "a project cannot set json"),
        ('bundle = "/tmp/x"', "a project cannot set bundle"),
        ('metrics-file = "/tmp/x"', "a project cannot set metrics-file"),
        ('stal-after = "7m"', "there is no key 'stal-after'"),
        ("stall-after = 7", "stall-after is not a string"),
        ("quiet = 1", "quiet is not a boolean"),
    ],
)
def test_what_a_project_cannot_say(line: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=said):
        watch_settings.resolve({}, _project(tmp_path, line))


@pytest.mark.parametrize("name", ["DDPDOCTOR_VERSION", "DDPDOCTOR_COMMIT", "DDPDOCTOR_HOME"])
def test_a_variable_of_somebody_else_is_no_reason_to_refuse_a_job(name: str) -> None:
    """An image may have its own, such as the version that it installed."""
    assert {one.origin for one in watch_settings.resolve({name: "1"}, Path("/"))} == {"default"}


def test_a_misspelt_variable() -> None:
    with pytest.raises(UsageError, match="there is no variable DDPDOCTOR_STAL_AFTER") as raised:
        watch_settings.resolve({"DDPDOCTOR_STAL_AFTER": "7m"}, Path("/"))
    assert raised.value.hint == "did you mean DDPDOCTOR_STALL_AFTER?"


def test_what_watch_sets_for_the_ranks_is_no_setting() -> None:
    """`watch` inside of a watched job, as a launcher's script may start it."""
    planned = plan({}, TorchVersion(None), run=Path("/run/d"), watch_pid=42, group_timeout=90.0).set
    ours = {name for name in planned if "DDPDOCTOR" in name}
    assert ours == {"_DDPDOCTOR_RUN", "_DDPDOCTOR_WATCH_PID", "_DDPDOCTOR_GROUP_TIMEOUT"}
    found = watch_settings.resolve(planned, Path("/"))
    assert {one.origin for one in found} == {"default"}
    assert not ours & {setting.variable for setting in watch_settings.SETTINGS}


def test_a_variable_that_is_neither_true_nor_false() -> None:
    with pytest.raises(UsageError, match="DDPDOCTOR_NATIVE=maybe: neither true nor false"):
        watch_settings.resolve({"DDPDOCTOR_NATIVE": "maybe"}, Path("/"))


def test_show_prints_each_setting_with_its_origin_and_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(_project(tmp_path, 'stall-after = "7m"'))
    monkeypatch.setenv("DDPDOCTOR_NOTIFY_URL", "https://hooks.example.com/T0/secret")
    assert main.main(["config", "show"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["stall-after", "7m", str(tmp_path / "pyproject.toml")] in lines
    assert ["notify-url", "https://hooks.example.com/...", "DDPDOCTOR_NOTIFY_URL"] in lines
    assert main.main(["config", "show", "--json", "-"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["watch"]["on-hang"] == {"value": "report", "origin": "default"}


def test_watch_takes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(_project(tmp_path, "quiet = true", "no-probe = true"))
    assert main.main(["watch", "--", sys.executable, "-c", "print('x')"]) == 0
    assert capfd.readouterr() == ("x\n", "")
    monkeypatch.setenv("DDPDOCTOR_STALL_AFTER", "soon")
    assert main.main(["watch", "--", "true"]) == 2
    assert "--stall-after: 'soon' is not a duration" in capfd.readouterr().err
