"""Every check on a healthy machine and on machines with one fault each: the state, the figures, what to type."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ddpdoctor.checkup import registry
from ddpdoctor.checkup.judgement import Judgement, State
from ddpdoctor.checkup.machine import Attempt, Clock, Launch, Machine, Meeting, Peer, Resolution, Space, Torch
from ddpdoctor.checkup.registry import CHECKS, RegisteredCheck

GIB = 1 << 30
HEALTHY = Machine(
    environ={"PATH": "/usr/bin"},
    launch=Launch(("torchrun", "train.py"), 8, 2, "node0", 29500),
    pyspy=Attempt(True, "py-spy 0.4.1"),
    attach=Attempt(True, "Process 7: python"),
    yama=1,
    may_trace=False,
    shared_memory=Space(64 * GIB, 60 * GIB),
    open_files=(65536, 65536),
    memory=512 * GIB,
    torch=Torch("2.9.1+cu128", "12.8", "2.27.5", "2.27.5"),
    driver="570.124.06",
    gpus=8,
    iommu=False,
    clock=Clock(synchronised=True, error=0.012),
    interfaces={"lo": ("127.0.0.1",), "eth0": ("10.0.0.1",)},
    listening=frozenset({22}),
    master=Resolution("node0", ("10.0.0.1",), 0.01),
    own_name=Resolution("node0", ("10.0.0.1",), 0.01),
    own_address=Resolution("10.0.0.1", ("node0",), 0.01),
    state_folder="/home/ada/.local/state/ddpdoctor/runs",
    state_space=Space(100 * GIB, 50 * GIB),
    meeting=Meeting(1, 30, "node0", 29500, True, (Peer("a", 0, "2.9.1", "2.27.5", 0.01, 0.0, 0.0),)),
)
A = Peer("a", 0, "2.9.1", "2.27.5", 0.01, 0.0, 0.0)
MET = Meeting(2, 30, "node0", 29500, hosted=True)


def _met(*peers: Peer, expected: int = 2) -> dict[str, Any]:
    return {"meeting": replace(MET, expected=expected).with_peers((A, *peers))}


BY_CODE = {registered.check.code: registered for registered in CHECKS}


def _env(**variables: str) -> dict[str, Any]:
    return {"environ": {"PATH": "/usr/bin", **variables}}


#: code, what differs from the healthy machine, state, words of the sentence, words of the remedy
FAULTS: list[tuple[str, dict[str, Any], State, str, str]] = [
    ("DD301", {"pyspy": Attempt(False, "Permission denied")}, State.PROBLEM, "Permission denied", "pip install"),
    ("DD301", {"pyspy": None}, State.UNKNOWN, "not tried", ""),
    (
        "DD302",
        {"attach": Attempt(False, "denied"), "container": "docker"},
        State.PROBLEM,
        "denied",
        "--cap-add=SYS_PTRACE",
    ),
    ("DD302", {"attach": Attempt(False, "denied"), "container": "kubernetes"}, State.PROBLEM, "denied", "SYS_PTRACE"),
    ("DD302", {"attach": Attempt(False, "denied")}, State.PROBLEM, "denied", "sudo -E"),
    ("DD302", {"attach": Attempt(False, "denied"), "yama": 2}, State.PROBLEM, "denied", "sysctl"),
    ("DD302", {"attach": None}, State.UNKNOWN, "not installed", ""),
    ("DD303", {"yama": 2}, State.PROBLEM, "ptrace_scope is 2", "sysctl kernel.yama.ptrace_scope=1"),
    ("DD303", {"yama": 2, "may_trace": True}, State.OK, "CAP_SYS_PTRACE", ""),
    ("DD303", {"yama": 3, "may_trace": True}, State.PROBLEM, "next boot", "/etc/sysctl.d"),
    ("DD303", {"yama": None}, State.OK, "no Yama", ""),
    (
        "DD304",
        {"shared_memory": Space(64 << 20, 60 << 20), "container": "docker"},
        State.WARNING,
        "64 MiB",
        "--shm-size",
    ),
    ("DD304", {"shared_memory": Space(GIB, 1 << 20)}, State.PROBLEM, "1 MiB free", "ls -lS /dev/shm"),
    ("DD304", {"shared_memory": None}, State.UNKNOWN, "cannot be asked", ""),
    ("DD305", {"open_files": (256, 4096)}, State.WARNING, "256 files", "ulimit -n 4096"),
    ("DD305", {"open_files": (-1, -1)}, State.OK, "not limited", ""),
    ("DD306", {"memory": 6 * GIB}, State.WARNING, "0.8 GiB for each of 8 ranks", "free -h"),
    ("DD306", {"memory": 2 * GIB}, State.PROBLEM, "for each of 8 ranks", "free -h"),
    ("DD307", {"torch": None}, State.UNKNOWN, "no torch", ""),
    ("DD307", {"torch": Torch("2.4.1")}, State.WARNING, "2.4.1 loads no plug-ins", "pip install --upgrade torch"),
    ("DD307", {"torch": Torch("2.11.0a0+git1")}, State.OK, "2.11.0a0", ""),
    ("DD308", {"driver": "470.82.01"}, State.PROBLEM, "470.82.01 is too old for CUDA 12.8", "525 or newer"),
    (
        "DD308",
        {"torch": Torch("2.10.0", "13.0", "2.29.2", "2.29.2"), "driver": "580.1"},
        State.WARNING,
        "2.29.3",
        "nccl",
    ),
    ("DD308", {"torch": Torch("2.9.1", "12.8", "2.26.2", "2.27.5")}, State.WARNING, "asks for 2.27.5", "==2.27.5"),
    ("DD308", {"torch": Torch("2.0.1", "11.8", "2.14.3", "2.14.3")}, State.OK, "2.14.3", ""),
    (
        "DD308",
        {"torch": Torch("2.0.1", "11.8", "2.14.3", "2.14.3"), **_env(CUDA_LAUNCH_BLOCKING="1")},
        State.WARNING,
        "CUDA_LAUNCH_BLOCKING",
        "unset CUDA_LAUNCH_BLOCKING",
    ),
    ("DD308", {"torch": Torch("2.9.1+cpu", "")}, State.OK, "without CUDA", ""),
    ("DD309", _env(TORCH_FR_BUFFER_SIZE="0"), State.WARNING, "Flight Recorder off", "unset TORCH_FR_BUFFER_SIZE"),
    ("DD310", {"gpus": 0}, State.UNKNOWN, "not applicable", ""),
    ("DD310", {"gpus": 4}, State.WARNING, "8 ranks for 4 visible GPUs", "--nproc-per-node 4"),
    ("DD310", {"torch": Torch("2.9.1+cpu", "")}, State.WARNING, "without CUDA", "pip install"),
    ("DD311", _env(NCCL_SOCKET_IFNAME="ib0"), State.PROBLEM, "selects none", "unset NCCL_SOCKET_IFNAME"),
    ("DD311", _env(NCCL_SOCKET_IFNAME="eth"), State.OK, "selects an interface", ""),
    ("DD311", _env(NCCL_SOCKET_IFNAME="=eth"), State.PROBLEM, "selects none", ""),
    ("DD311", _env(NCCL_SOCKET_IFNAME="^lo,docker"), State.OK, "selects an interface", ""),
    ("DD311", _env(GLOO_SOCKET_IFNAME="eth"), State.PROBLEM, "selects none", "unset GLOO_SOCKET_IFNAME"),
    (
        "DD312",
        {"master": Resolution("node0", (), 0.1, "unknown")},
        State.PROBLEM,
        "cannot be resolved",
        "getent hosts node0",
    ),
    ("DD312", {"master": Resolution("node0", ("127.0.1.1",), 0.1)}, State.PROBLEM, "cannot reach", "/etc/hosts"),
    ("DD312", {"master": Resolution("node0", ("10.0.0.1",), 3.0)}, State.WARNING, "took 3.0 s", "time getent"),
    ("DD312", {"master": None}, State.UNKNOWN, "not applicable", ""),
    ("DD313", {"listening": frozenset({29500})}, State.PROBLEM, "port 29500 already", "ss -ltnp"),
    (
        "DD313",
        {"listening": frozenset({29500}), "master": Resolution("node9", ("10.0.0.9",), 0.1)},
        State.OK,
        "another node",
        "",
    ),
    ("DD313", {"launch": Launch()}, State.UNKNOWN, "not applicable", ""),
    ("DD314", {"own_address": Resolution("10.0.0.1", (), 6.0, "no answer")}, State.PROBLEM, "took 6.0 s", "/etc/hosts"),
    ("DD314", {"own_name": Resolution("node0", ("10.0.0.1",), 2.0)}, State.WARNING, "took 2.0 s", "time getent"),
    ("DD314", {"own_name": Resolution("node0", (), 0.1, "unknown")}, State.WARNING, "cannot be resolved", "getent"),
    ("DD315", _env(TORCH_NCCL_ASYNC_ERROR_HANDLING="0"), State.WARNING, "does not end a job", "unset"),
    ("DD315", _env(NCCL_TIMEOUT="60"), State.NOTE, "read neither by torch nor by NCCL", "--nccl-timeout"),
    ("DD316", {"state_error": "/home cannot be written to"}, State.WARNING, "cannot be written", "--bundle"),
    ("DD316", {"state_space": Space(GIB, 1000)}, State.WARNING, "0 MB free", "df -h"),
    ("DD317", {"iommu": True}, State.NOTE, "an IOMMU is on", "NCCL_P2P_DISABLE=1"),
    ("DD318", {"clock": Clock(synchronised=True, error=9.0)}, State.WARNING, "wrong by 9.0 s", "chronyc tracking"),
    (
        "DD318",
        {"clock": Clock(synchronised=False, error=16.0)},
        State.NOTE,
        "is not known",
        "date +%s.%N; ssh node0 date +%s.%N",
    ),
    (
        "DD318",
        {"clock": Clock(synchronised=False, error=16.0), "launch": Launch()},
        State.UNKNOWN,
        "with one node",
        "",
    ),
    (
        "DD318",
        _met(replace(A, host="b", number=1, offset=-9.0)),
        State.WARNING,
        "9.0 s ahead of b's (+-0.0 ms)",
        "ssh a",
    ),
    (
        "DD318",
        _met(*(replace(A, host=h, offset=o, uncertainty=0.0004) for h, o in (("b", 0.001), ("c", 2.3))), expected=3),
        State.WARNING,
        "the clock of c is 2.3 s ahead of b's (+-0.8 ms)",
        "ssh c sudo chronyc makestep",
    ),
    ("DD318", _met(replace(A, host="b", offset=0.3, uncertainty=0.4)), State.OK, "agree within 700.0 ms", ""),
    ("DD308", _met(replace(A, host="b", number=1, torch="2.8.0")), State.WARNING, "a: 2.9.1, b: 2.8.0", "pip list"),
    ("DD308", _met(replace(A, host="b", number=1, nccl="")), State.WARNING, "differ in NCCL: a: 2.27.5, b: none", ""),
    ("DD314", _met(replace(A, host="b", reverse_dns=5.0)), State.WARNING, "resolver of b took 5.0 s", "ssh b"),
    (
        "DD319",
        _met(),
        State.PROBLEM,
        "1 of 2 nodes came to node0:29500 within 30 s: a (node 0); missing: node 1",
        "nc -vz",
    ),
    ("DD319", _met(replace(A, number=None), expected=3), State.PROBLEM, "missing: 1 (give --node-rank", "nc -vz"),
    ("DD319", {"meeting": MET.failed("busy", A)}, State.PROBLEM, "cannot host the meeting", "ss -ltnp"),
    ("DD319", {"meeting": replace(MET, hosted=False).failed("refused", A)}, State.PROBLEM, "did not reach", "nc -vz"),
    ("DD319", {"meeting": None}, State.UNKNOWN, "(--meet)", ""),
    ("DD317", {"iommu": True, **_env(NCCL_P2P_DISABLE="1")}, State.OK, "no IOMMU", ""),
]


@pytest.mark.parametrize("code", BY_CODE)
def test_a_healthy_machine_gets_no_complaint(code: str) -> None:
    judged = BY_CODE[code].judge(HEALTHY)
    assert (judged.state, judged.remedy) == (State.OK, ())
    assert judged.said


@pytest.mark.parametrize(("code", "change", "state", "said", "remedy"), FAULTS)
def test_a_fault_is_named_with_what_to_type(
    code: str, change: dict[str, Any], state: State, said: str, remedy: str
) -> None:
    judged = BY_CODE[code].judge(replace(HEALTHY, **change))
    assert judged.state is state
    assert said in judged.said
    assert remedy in "\n".join(judged.remedy)
    assert bool(judged.remedy) == (state in (State.NOTE, State.WARNING, State.PROBLEM))


@pytest.mark.parametrize("code", BY_CODE)
def test_nothing_known_is_no_complaint(code: str) -> None:
    """Unknown is not absent: a machine that tells nothing has no fault."""
    assert BY_CODE[code].judge(Machine()).state in (State.OK, State.UNKNOWN)


def test_every_check_has_a_fault_here() -> None:
    complained = {code for code, _, state, _, _ in FAULTS if state not in (State.OK, State.UNKNOWN)}
    assert complained == set(BY_CODE)


def test_a_check_that_fails_is_a_result_and_the_others_are_judged() -> None:
    def broken(machine: Machine) -> Judgement:
        raise ZeroDivisionError("boom")

    first = RegisteredCheck(CHECKS[0].check, broken, "")
    results = registry.judge_all(HEALTHY, (first, CHECKS[1]))
    assert [judged.state for _, judged in results] == [State.PROBLEM, State.OK]
    assert results[0][1].said == "the check itself failed: ZeroDivisionError: boom"


def test_the_registry_lists_every_file_once_and_in_order() -> None:
    folder = Path(registry.__file__).parent / "checks"
    assert len(CHECKS) == len(list(folder.glob("[!_]*.py"))) == len(BY_CODE)
    codes = [registered.check.code for registered in CHECKS]
    assert codes == sorted(codes)
    assert all(re.fullmatch(r"DD3\d\d", code) for code in codes)
    for registered in CHECKS:
        assert registered.documentation.startswith(f"# {registered.check.code} {registered.check.name}\n")
        for section in ("## What\n", "## Why it matters\n", "## Fix\n", "## When it is wrong\n"):
            assert section in registered.documentation
