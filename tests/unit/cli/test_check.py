"""`ddpdoctor check` on the machine that the tests run on, whatever it is like."""

from __future__ import annotations

import json
import socket

import pytest

from ddpdoctor.checkup import look
from ddpdoctor.checkup.machine import Attempt, Machine
from ddpdoctor.checkup.registry import CHECKS
from ddpdoctor.cli import main


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with one problem and one warning."""
    machine = Machine(pyspy=Attempt(False, "\x1b[31mPermission denied"), open_files=(100, 200))
    monkeypatch.setattr(look, "look", lambda *_: machine)


def test_this_machine_is_judged_by_every_check(capsys: pytest.CaptureFixture[str]) -> None:
    status = main.main(["check", "--json", "-"])
    said = json.loads(capsys.readouterr().out)
    assert said["schema"] == "ddpdoctor.check/1"
    assert [one["code"] for one in said["checks"]] == [registered.check.code for registered in CHECKS]
    assert status == int(any(one["state"] == "problem" for one in said["checks"]))


def test_a_port_that_is_taken_is_found_without_a_connection(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        status = main.main(
            ["check", "--", "torchrun", "--master-addr", "127.0.0.1", "--master-port", str(port), "a.py"]
        )
        server.settimeout(0.2)
        with pytest.raises(TimeoutError):
            server.accept()
    assert status == 1
    assert f"problem  DD313  somebody listens on port {port} already" in capsys.readouterr().out


@pytest.mark.usefixtures("faulty")
def test_the_screen_shows_what_is_wrong_and_what_to_type(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["check"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "problem  DD301  py-spy does not run: Permission denied",
        "                $ pip install --force-reinstall py-spy",
        "warning  DD305  a process may open 100 files",
        "                $ ulimit -n 200",
        "19 checks: 3 ok, 1 warning, 1 problem, 14 not known or not applicable; `ddpdoctor explain CODE` says more",
    ]


@pytest.mark.usefixtures("faulty")
def test_verbose_shows_every_check(capsys: pytest.CaptureFixture[str]) -> None:
    main.main(["check", "-v"])
    lines = capsys.readouterr().out.splitlines()
    assert [line[9:14] for line in lines if line[9:11] == "DD"] == [registered.check.code for registered in CHECKS]
