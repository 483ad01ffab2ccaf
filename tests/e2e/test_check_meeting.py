"""`ddpdoctor check --meet` of nodes that are network namespaces of their own, joined by a bridge."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PATIENCE = 120.0
PORT = 29517
NAMES = ("meet-a", "meet-b", "meet-c")
NUMBERS = itertools.count()
#: shifts the wall clock of a Python process that finds it on its path
SHIFTED = """
import os, time
_true, _shift = time.time, float(os.environ["TEST_CLOCK_SHIFT"])
time.time = lambda: _true() + _shift
"""
#: torch's own store, as the job's first rank hosts it
STORE = """
import sys
from datetime import timedelta
from torch.distributed import TCPStore
store = TCPStore(sys.argv[1], int(sys.argv[2]), None, True, timedelta(seconds=60), wait_for_workers=False)
store.set("job", "1")
print("up", flush=True)
sys.stdin.readline()
print(store.num_keys(), store.get("job").decode(), flush=True)
"""


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True, timeout=20)


@pytest.fixture
def nodes() -> Iterator[dict[str, str]]:
    """Names of namespaces -> addresses on one bridge."""
    if shutil.which("ip") is None:
        pytest.skip("ip is not installed: apt-get install iproute2")
    # the kernel takes its time to remove what a test before this one had
    tag = f"{os.getpid() % 10000}-{next(NUMBERS)}"
    names = [f"{name}{tag}" for name in NAMES]
    bridge = f"br-{tag}"
    try:
        try:
            ip("link", "add", bridge, "type", "bridge")
        except subprocess.CalledProcessError as error:
            pytest.skip(f"network namespaces are not allowed here: {error.stderr.strip()}")
        ip("link", "set", bridge, "up")
        for place, name in enumerate(names):
            ip("netns", "add", name)
            ip("link", "add", f"v{place}-{tag}", "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("link", "set", f"v{place}-{tag}", "master", bridge, "up")
            ip("-n", name, "addr", "add", f"10.213.7.{place + 1}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
            ip("-n", name, "link", "set", "lo", "up")
        yield {name: f"10.213.7.{place + 1}" for place, name in enumerate(names)}
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
        subprocess.run(["ip", "link", "del", bridge], capture_output=True, check=False)


def inside(name: str, *command: str, **options: Any) -> subprocess.Popen[str]:
    """A command on a node that has a host name of its own."""
    words = [
        "ip",
        "netns",
        "exec",
        name,
        "unshare",
        "--uts",
        "sh",
        "-ec",
        f'hostname {name}\nexec "$@"',
        "sh",
        *command,
    ]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def check(
    name: str, host: str, node: int, count: int, seconds: float = 60, under: tuple[str, ...] = (), **environ: str
) -> subprocess.Popen[str]:
    launch = ("torchrun", "--nnodes", str(count), "--node-rank", str(node), "--rdzv-endpoint", f"{host}:{PORT}", "t.py")
    paths = os.pathsep.join(filter(None, (environ.pop("ahead_of_path", ""), str(ROOT))))
    environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    words = (*under, sys.executable, "-m", "ddpdoctor", "check", "--meet", f"{seconds:g}", "--json", "-", "--", *launch)
    return inside(name, *words, env={**os.environ, "PYTHONPATH": paths, **environ})


def told(process: subprocess.Popen[str]) -> tuple[dict[str, dict[str, Any]], list[dict[str, Any]]]:
    """The results by code, and the nodes."""
    out, err = process.communicate(timeout=PATIENCE)
    assert err.startswith("ddpdoctor: waiting for "), err
    assert err.count("\n") == 1, err
    said = json.loads(out)
    results = {one["code"]: one for one in said["checks"]}
    assert [one["said"] for one in results.values() if "itself failed" in one["said"]] == []
    assert process.returncode == int(any(one["state"] == "problem" for one in results.values()))
    return results, said["nodes"]


@pytest.mark.parametrize("by", ["libfaketime", "sitecustomize"])
def test_two_nodes_one_of_whose_clocks_is_ahead(nodes: dict[str, str], tmp_path: Path, by: str) -> None:
    if by == "libfaketime" and shutil.which("faketime") is None:
        pytest.skip("faketime is not installed: apt-get install faketime")
    first, second, _ = nodes
    if by == "libfaketime":
        shifted = check(second, nodes[first], 1, 2, under=("faketime", "-f", "+2.3s"))
    else:
        (tmp_path / "sitecustomize.py").write_text(SHIFTED)
        shifted = check(second, nodes[first], 1, 2, ahead_of_path=str(tmp_path), TEST_CLOCK_SHIFT="2.3")
    both = [told(one) for one in (check(first, nodes[first], 0, 2), shifted)]
    for results, came in both:
        assert results["DD319"]["state"] == "ok", results["DD319"]
        assert results["DD318"]["state"] == "warning"
        assert f"the clock of {second} is 2.3 s ahead of {first}'s (+-" in results["DD318"]["said"]
        assert any("chronyc" in line for line in results["DD318"]["remedy"])
        assert [(one["host"], one["number"]) for one in came] == [(first, 0), (second, 1)]
        assert came[0]["offset"] == 0
        # the truth is within the uncertainty
        assert abs(came[1]["offset"] - 2.3) <= came[1]["uncertainty"] < 0.1
        assert came[0]["torch"] == came[1]["torch"] != ""


def test_three_nodes_in_step_leave_the_port_to_the_job(nodes: dict[str, str]) -> None:
    first = next(iter(nodes))
    for results, came in map(told, [check(name, nodes[first], i, 3) for i, name in enumerate(nodes)]):
        assert results["DD319"]["state"] == results["DD318"]["state"] == "ok"
        assert len(came) == 3
    job = inside(first, sys.executable, "-c", f"import socket; socket.socket().bind(('{nodes[first]}', {PORT}))")
    job.communicate(timeout=PATIENCE)
    assert job.returncode == 0, "no connection of the meeting keeps the port busy"


def test_a_node_behind_a_dropped_link_is_named(nodes: dict[str, str]) -> None:
    first, second, third = nodes
    ip("-n", third, "link", "set", "eth0", "down")
    started = [check(name, nodes[first], i, 3, seconds=30) for i, name in enumerate(nodes)]
    for process in started[:2]:
        results, came = told(process)
        assert results["DD319"]["state"] == "problem"
        assert f"2 of 3 nodes came to {nodes[first]}:{PORT} within 30 s" in results["DD319"]["said"]
        assert "missing: node 2:" in results["DD319"]["said"]
        assert results["DD319"]["remedy"] == [f"nc -vz {nodes[first]} {PORT}"]
        assert {one["host"] for one in came} == {first, second}
    results, came = told(started[2])
    assert "did not reach the others" in results["DD319"]["said"]
    assert [one["host"] for one in came] == [third]


def test_the_store_of_a_job_is_left_alone(nodes: dict[str, str]) -> None:
    pytest.importorskip("torch")
    first, second, _ = nodes
    job = inside(first, sys.executable, "-c", STORE, nodes[first], str(PORT), stdin=subprocess.PIPE)
    assert job.stdout is not None
    assert job.stdout.readline() == "up\n"
    started = [check(first, nodes[first], 0, 2, seconds=30), check(second, nodes[first], 1, 2, seconds=30)]
    hosting, joining = (told(one)[0] for one in started)
    assert "something listens there already" in hosting["DD319"]["said"]
    assert hosting["DD313"]["state"] == "problem"
    assert "nothing was sent to it" in joining["DD319"]["said"]
    out, _ = job.communicate("\n", timeout=PATIENCE)
    keys, value = out.split()
    assert (int(keys), value) == (1, "1"), "what the job has stored is all there is"


def test_ctrl_c_ends_the_wait(nodes: dict[str, str]) -> None:
    first = next(iter(nodes))
    waiting = check(first, nodes[first], 0, 2, seconds=600)
    assert waiting.stderr is not None
    assert waiting.stderr.readline().startswith("ddpdoctor: waiting for 2 nodes")
    time.sleep(0.5)
    begun = time.monotonic()
    waiting.send_signal(signal.SIGINT)
    _, err = waiting.communicate(timeout=PATIENCE)
    assert time.monotonic() - begun < 5
    assert waiting.returncode == 130
    assert "Traceback" not in err
