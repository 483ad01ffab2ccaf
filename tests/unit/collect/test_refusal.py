"""Why a process may not be read, from /proc as different machines show it: one reason, and one thing to do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ddpdoctor.collect import pyspy, refusal
from ddpdoctor.collect.refusal import Refusal
from ddpdoctor.model.evidence import Gap
from tests.unit.collect.conftest import Start, worker

ME = os.geteuid()
FULL, NONE, NET_RAW = "000001ffffffffff", "0" * 16, "0000000000002000"


def _status(user: int, capabilities: str) -> str:
    return f"Name:\tpython\nUid:\t{user}\t{user}\t{user}\t{user}\nCapPrm:\t{capabilities}\nCapEff:\t{capabilities}\n"


#: files, environment, the reason, a part of what to do
PLACES = [
    ({"proc/sys/kernel/yama/ptrace_scope": "3\n", "proc/self/status": _status(0, FULL)}, Refusal.YAMA_3, "sysctl.d"),
    ({"proc/sys/kernel/yama/ptrace_scope": "2\n"}, Refusal.YAMA_2, "sysctl kernel.yama.ptrace_scope=1"),
    ({"proc/sys/kernel/yama/ptrace_scope": "1\n"}, Refusal.YAMA_1, "sudo"),
    ({"sys/fs/selinux/booleans/deny_ptrace": "1 1"}, Refusal.SELINUX, "setsebool"),
    ({"proc/self/status": _status(ME, FULL)}, Refusal.SANDBOX, "outside"),
    ({"proc/7/status": _status(54321, NONE)}, Refusal.OTHER_USER, "sudo -u 54321"),
    ({"proc/7/status": _status(ME, NET_RAW)}, Refusal.CAPABILITIES, "start ddpdoctor with cap_net_raw"),
    ({".dockerenv": ""}, Refusal.CONTAINER, "--cap-add=SYS_PTRACE"),
    ({"run/.containerenv": ""}, Refusal.CONTAINER, "--cap-add=SYS_PTRACE"),
    # equal capabilities suffice: it is not for want of one
    ({".dockerenv": "", "proc/7/status": _status(ME, NET_RAW)}, Refusal.CAPABILITIES, "cap_net_raw"),
    # the kernel gives its files to root, here to whoever runs the test
    ({"proc/self/status": _status(54321, NONE), "proc/7/status": _status(54321, NONE)}, Refusal.NOT_DUMPABLE, "sudo"),
    ({}, Refusal.UNKNOWN, "sudo"),
]


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)


def _place(root: Path, files: dict[str, str]) -> Path:
    both = {"proc/self/status": _status(ME, NONE), "proc/7/status": _status(ME, NONE)}
    for name, text in {**both, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.mark.parametrize(("files", "reason", "remedy"), PLACES)
@pytest.mark.usefixtures("outside")
def test_one_reason_and_one_thing_to_do(files: dict[str, str], reason: Refusal, remedy: str, tmp_path: Path) -> None:
    seen = refusal.circumstances(7, _place(tmp_path, files))
    found = refusal.why(seen)
    assert found is reason
    assert remedy in found.remedy(seen)
    assert "{" not in found.reason(seen)


def test_in_kubernetes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    seen = refusal.circumstances(7, _place(tmp_path, {".dockerenv": ""}))
    assert refusal.why(seen).remedy(seen) == "securityContext: {capabilities: {add: [SYS_PTRACE]}}"


def test_every_reason_has_its_own_words() -> None:
    assert len(Refusal.__members__) == len(list(Refusal))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run a process as another user")
@pytest.mark.usefixtures("outside")
def test_what_this_kernel_refuses(start: Start) -> None:
    """A process with CAP_SYS_PTRACE, read by one without: the kernel says no, and /proc shows why."""
    process = start("import time; print('up', flush=True); time.sleep(60)")
    program = (
        "import sys; from ddpdoctor.collect import refusal;"
        "seen = refusal.circumstances(int(sys.argv[1])); print(refusal.why(seen).remedy(seen))"
    )
    bare = ["setpriv", "--bounding-set=-sys_ptrace", sys.executable, "-c", program, str(process.pid)]
    told = subprocess.run(bare, capture_output=True, text=True, check=True)
    assert told.stdout == "start ddpdoctor with cap_sys_ptrace, too\n"


def test_a_process_that_may_be_read_is_no_gap(start: Start) -> None:
    process = start("import time; print('up', flush=True); time.sleep(60)")
    assert not isinstance(pyspy.fetch(worker(process.pid)), Gap)
