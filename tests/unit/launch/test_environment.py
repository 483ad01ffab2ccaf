"""The planner: which variables are set and why, and that the user's own settings are kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddpdoctor.launch.environment import (
    PLUGIN,
    RECORDER_NAMES,
    TorchVersion,
    installed_torch,
    likely_torch,
    plan,
    probe_obstacle,
)

OLD, NEW = RECORDER_NAMES


@pytest.mark.parametrize(
    ("torch", "names"),
    [
        ("2.3.1", {OLD}),
        ("2.7.0", {OLD}),
        ("2.8.0", {OLD, NEW}),
        ("2.10.0", {OLD, NEW}),
        ("2.11.0", set()),
        ("3.0", set()),
    ],
)
def test_the_recorder_is_turned_on_where_torch_leaves_it_off(torch: str, names: set[str]) -> None:
    assert set(plan({}, TorchVersion(torch), run=None, watch_pid=1).set) == names


def test_an_unknown_torch_may_be_an_old_one() -> None:
    assert set(plan({}, TorchVersion(None), run=None, watch_pid=1).set) == {OLD, NEW}


@pytest.mark.parametrize(
    ("guess", "names"), [("2.13.0", {NEW}), ("2.8", {NEW}), ("2.7.1", {OLD, NEW}), (None, {OLD, NEW})]
)
def test_a_guess_spares_a_newer_torch_its_warning(guess: str | None, names: set[str]) -> None:
    assert set(plan({}, TorchVersion(None, guess), run=None, watch_pid=1).set) == names


@pytest.mark.parametrize("name", [OLD, NEW])
@pytest.mark.parametrize("torch", ["2.4", "2.9", None])
def test_the_users_ring_stays_under_either_name(name: str, torch: str | None) -> None:
    planned = plan({name: "7"}, TorchVersion(torch), run=None, watch_pid=1)
    assert planned.set == {}
    assert planned.kept == {name: "7"}


def test_the_probes_folder_comes_first_and_the_users_path_stays() -> None:
    planned = plan({"PYTHONPATH": "/mine:/too"}, TorchVersion("2.13"), run=Path("/run/d"), watch_pid=42)
    assert planned.set["PYTHONPATH"] == f"{PLUGIN}:/mine:/too"
    assert planned.set["_DDPDOCTOR_RUN"] == "/run/d"
    assert planned.set["_DDPDOCTOR_WATCH_PID"] == "42"
    assert "_DDPDOCTOR_GROUP_TIMEOUT" not in planned.set


def test_the_plugin_folder_is_there() -> None:
    assert list(PLUGIN.glob("*.dist-info/entry_points.txt"))


@pytest.mark.parametrize(
    ("torch", "environ", "said"),
    [
        ("2.4.1", {}, "torch 2.5"),
        ("2.5.0", {}, ""),
        ("2.10.0", {}, ""),
        (None, {}, ""),
        ("2.13.0", {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}, "AUTOLOAD=0"),
        ("2.13.0", {"TORCH_DEVICE_BACKEND_AUTOLOAD": "1"}, ""),
    ],
)
def test_what_keeps_torch_from_loading_the_probe(torch: str | None, environ: dict[str, str], said: str) -> None:
    found = probe_obstacle(torch, environ)
    assert (said in found) if said else not found


def test_a_group_timeout_is_handed_on_in_seconds() -> None:
    planned = plan({}, TorchVersion("2.13"), run=Path("/r"), watch_pid=1, group_timeout=90.0)
    assert planned.set["_DDPDOCTOR_GROUP_TIMEOUT"] == "90"


NAMES = st.sampled_from(["PYTHONPATH", OLD, NEW, "TORCH_NCCL_BLOCKING_WAIT", "OTHER"])


@given(
    st.dictionaries(NAMES, st.text("ab:/", max_size=5)),
    st.none() | st.sampled_from(["2.2", "2.9", "2.13"]),
    st.booleans(),
)
def test_nothing_of_the_users_is_overridden(environ: dict[str, str], torch: str | None, probe: bool) -> None:
    planned = plan(environ, TorchVersion(torch), run=Path("/r") if probe else None, watch_pid=1)
    for name, value in environ.items():
        if name == "PYTHONPATH":
            assert value in planned.set.get(name, value)
        else:
            assert name not in planned.set
    assert set(planned.set) == set(planned.why) == set(planned.explained())
    assert not set(planned.set) & set(planned.kept)


def environment_with_torch(root: Path, version: str, folder: str = "lib/python3.11/site-packages") -> Path:
    """A folder that looks like an environment; returns its interpreter."""
    (root / folder / f"torch-{version}.dist-info").mkdir(parents=True)
    interpreter = root / "bin" / "python3.11"
    interpreter.parent.mkdir(exist_ok=True)
    interpreter.write_text("")
    interpreter.chmod(0o755)
    return interpreter


def script(path: Path, first_line: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{first_line}\n")
    path.chmod(0o755)
    return path


def test_a_shell_script_most_likely_runs_the_python_on_path(tmp_path: Path) -> None:
    python = environment_with_torch(tmp_path, "2.7.1")
    assert likely_torch({"PATH": ""}) is None
    assert likely_torch({"PATH": str(python.parent)}) is None
    python.rename(python.with_name("python3"))
    assert likely_torch({"PATH": str(python.parent)}) == "2.7.1"


def test_torch_is_found_through_an_interpreter(tmp_path: Path) -> None:
    python = environment_with_torch(tmp_path, "2.7.1+cu126")
    assert installed_torch((str(python), "train.py"), {"PATH": ""}) == "2.7.1"


def test_torch_is_found_through_a_launchers_first_line(tmp_path: Path) -> None:
    python = environment_with_torch(tmp_path / "env", "2.9.0")
    torchrun = script(tmp_path / "elsewhere" / "torchrun", f"#!{python}")
    assert installed_torch(("torchrun",), {"PATH": str(torchrun.parent)}) == "2.9.0"
    by_env = script(tmp_path / "elsewhere" / "other", "#!/usr/bin/env -S python3.11")
    assert installed_torch((str(by_env),), {"PATH": str(python.parent)}) == "2.9.0"


def test_torch_on_the_pythonpath_wins(tmp_path: Path) -> None:
    python = environment_with_torch(tmp_path / "env", "2.9.0")
    (tmp_path / "nightly" / "torch-2.14.0.dist-info").mkdir(parents=True)
    environ = {"PATH": "", "PYTHONPATH": str(tmp_path / "nightly")}
    assert installed_torch((str(python),), environ) == "2.14.0"


def test_another_pythons_torch_is_not_taken(tmp_path: Path) -> None:
    environment_with_torch(tmp_path, "2.1.0", "lib/python3.9/site-packages")
    python = environment_with_torch(tmp_path, "2.9.0", "lib/python3.11/site-packages")
    assert installed_torch((str(python),), {"PATH": ""}) == "2.9.0"


@pytest.mark.parametrize("first", ["#!/bin/sh", "#!", "\x7fELF", ""])
def test_a_program_that_is_no_python_has_no_torch_of_its_own(tmp_path: Path, first: str) -> None:
    program = script(tmp_path / "launch", first)
    assert installed_torch((str(program),), {"PATH": ""}) is None
    assert installed_torch(("no-such-program",), {"PATH": ""}) is None
