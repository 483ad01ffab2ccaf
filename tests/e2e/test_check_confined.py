"""`ddpdoctor check` where little is allowed and much is broken, in namespaces of its own: it ends, it says what is
wrong, and none of its checks fails."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PATIENCE = 300.0
CHECK = (sys.executable, "-m", "ddpdoctor", "check", "--json", "-", "--")
LAUNCH = ("torchrun", "--nproc-per-node", "2", "--nnodes", "2", "--rdzv-endpoint", "node7.example:29500", "train.py")
#: a name server that takes every question and answers none, on a network that has only this machine
SILENT_SERVER = """
import fcntl, os, socket, struct, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
    fcntl.ioctl(asked, 0x8914, struct.pack("16sh14x", b"lo", 1))  # SIOCSIFFLAGS, IFF_UP
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
server.set_inheritable(True)
os.execv(sys.argv[1], sys.argv[1:])
"""


def confined(flags: str, script: str, *command: str) -> list[str]:
    """The command as root of namespaces of its own, after a script that arranges them."""
    return ["unshare", "--user", "--map-root-user", flags, "sh", "-ec", script + '\nexec "$@"', "sh", *command]


@pytest.fixture(autouse=True)
def _namespaces() -> None:
    if shutil.which("unshare") is None:
        pytest.skip("unshare is not installed: apt-get install util-linux")
    tried = subprocess.run(confined("-mn", "", "true"), capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"namespaces are not allowed here: {tried.stderr.strip()}")


def judged(command: list[str], **environ: str) -> dict[str, dict[str, Any]]:
    """The results by code. Every check is there, none has failed, and nothing is said beside them."""
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environ},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.stderr == ""
    results = {one["code"]: one for one in json.loads(done.stdout)["checks"]}
    assert len(results) == 19
    assert [one["said"] for one in results.values() if "itself failed" in one["said"]] == []
    assert done.returncode == int(any(one["state"] == "problem" for one in results.values()))
    for one in results.values():
        assert bool(one["remedy"]) == (one["state"] in ("note", "warning", "problem")), one
    return results


def test_without_rights(tmp_path: Path) -> None:
    """No capability can be had, the file system cannot be written to, and nothing may become more than it is."""
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is not installed: apt-get install util-linux")
    dropped = ("setpriv", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all")
    readonly = f"mount --bind {tmp_path} {tmp_path} && mount -o remount,bind,ro {tmp_path}"
    results = judged(confined("-mn", readonly, *dropped, *CHECK, *LAUNCH), XDG_STATE_HOME=str(tmp_path))
    assert results["DD316"]["state"] == "warning"
    assert "cannot be written to" in results["DD316"]["said"]
    # Yama lets a process be read that allows it, as ranks do
    assert results["DD302"]["state"] in ("ok", "problem")
    assert (results["DD303"]["state"] == "ok") or "ptrace_scope" in results["DD303"]["said"]
    assert results["DD312"]["state"] == "problem", "there is no network"


def test_a_resolver_that_never_answers(tmp_path: Path) -> None:
    (tmp_path / "resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:30 attempts:3\n")
    (tmp_path / "hosts").write_text("127.0.0.1 localhost\n")
    (tmp_path / "nsswitch.conf").write_text("hosts: files dns\n")
    mounts = "".join(
        f"mount --bind {tmp_path}/{name} /etc/{name}\n" for name in ("resolv.conf", "hosts", "nsswitch.conf")
    )
    server = (sys.executable, "-c", SILENT_SERVER)
    begun = time.monotonic()
    results = judged(confined("-mn", mounts, *server, *CHECK, *LAUNCH))
    assert time.monotonic() - begun < 120, "each question has its deadline, and 30 s three times are longer"
    assert results["DD312"]["state"] == "problem"
    assert results["DD312"]["said"] == "node7.example cannot be resolved: no answer within 6 s"
    assert results["DD312"]["remedy"] == ["getent hosts node7.example"]
    assert results["DD314"]["state"] == "problem"
    assert "s to resolve" in results["DD314"]["said"]
    assert any("/etc/hosts" in line for line in results["DD314"]["remedy"])


def test_a_full_shared_memory() -> None:
    fill = "mount -t tmpfs -o size=20m tmpfs /dev/shm\nhead -c 30M /dev/zero > /dev/shm/full 2>/dev/null || true"
    results = judged(confined("-m", fill, *CHECK, *LAUNCH))
    assert results["DD304"]["state"] == "problem"
    assert results["DD304"]["said"] == "/dev/shm has 0 MiB free of 20 MiB"
    assert results["DD304"]["remedy"][0] == "ls -lS /dev/shm | head"
