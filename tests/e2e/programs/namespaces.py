"""Hosts on one machine: network, clock and name of their own, joined by a bridge. Everything ends with this process.

Started in namespaces of its own (tests/e2e/nodes.py) with the number of nodes. Reads one JSON line for each task:

    {"node": 0, "run": [...], "env": {...}, "cwd": "...", "out": "...", "err": "..."}
    {"link": 1, "up": false}

and writes one for each program that has ended: {"node": 0, "ended": 124}.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

NETWORK = "10.77.0."
#: seconds between the monotonic clocks of two nodes
APART = 500_000


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, stdout=subprocess.DEVNULL)


def address(node: int) -> str:
    return f"{NETWORK}{node + 1}"


def name_hosts(number: int) -> None:
    """No name is looked up anywhere else."""
    with tempfile.NamedTemporaryFile("w", delete=False) as hosts:
        hosts.write("127.0.0.1 localhost\n" + "".join(f"{address(i)} node-{i}\n" for i in range(number)))
    Path(hosts.name).chmod(0o644)
    subprocess.run(["mount", "--bind", hosts.name, "/etc/hosts"], check=True)
    with tempfile.NamedTemporaryFile("w", delete=False) as resolver:
        resolver.write("")
    subprocess.run(["mount", "--bind", resolver.name, "/etc/resolv.conf"], check=False)


def start_node(node: int) -> subprocess.Popen[str]:
    apart = ["--monotonic", str(node * APART)] if node else []
    command = ["unshare", "--net", "--uts", "--time", *apart, "--fork", "--kill-child", sys.executable, __file__]
    process = subprocess.Popen(
        [*command, "node", str(node)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    assert process.stdout is not None
    process.stdout.readline()  # it is in its namespaces
    ip("link", "add", f"to{node}", "type", "veth", "peer", "name", "eth0", "netns", str(process.pid))
    ip("link", "set", f"to{node}", "master", "bridge", "up")
    tell(process, {"go": True})
    process.stdout.readline()
    return process


def tell(process: subprocess.Popen[str], what: object) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(what) + "\n")
    process.stdin.flush()


def laboratory(number: int) -> None:
    name_hosts(number)
    ip("link", "set", "lo", "up")
    ip("link", "add", "bridge", "type", "bridge")
    ip("link", "set", "bridge", "up")
    nodes = [start_node(node) for node in range(number)]
    for node in nodes:
        threading.Thread(target=pass_on, args=(node,), daemon=True).start()
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        wanted = json.loads(line)
        if "link" in wanted:
            ip("link", "set", f"to{wanted['link']}", "up" if wanted["up"] else "down")
        else:
            tell(nodes[wanted["node"]], wanted)


def pass_on(node: subprocess.Popen[str]) -> None:
    assert node.stdout is not None
    for line in node.stdout:
        print(line, end="", flush=True)


def be_node(node: int) -> None:
    subprocess.run(["hostname", f"node-{node}"], check=True)
    print("here", flush=True)
    sys.stdin.readline()
    ip("link", "set", "lo", "up")
    ip("addr", "add", f"{address(node)}/24", "dev", "eth0")
    ip("link", "set", "eth0", "up")
    print("up", flush=True)
    for line in sys.stdin:
        wanted = json.loads(line)
        threading.Thread(target=run, args=(node, wanted), daemon=True).start()


def run(node: int, wanted: dict[str, object]) -> None:
    with Path(str(wanted["out"])).open("wb") as out, Path(str(wanted["err"])).open("wb") as err:
        environ = {**os.environ, **wanted["env"]}  # type: ignore[dict-item]
        process = subprocess.Popen(
            wanted["run"],  # type: ignore[call-overload]
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env=environ,
            cwd=wanted["cwd"],
            start_new_session=True,
        )
        status = process.wait()
    print(json.dumps({"node": node, "ended": status}), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "node":
        be_node(int(sys.argv[2]))
    else:
        laboratory(int(sys.argv[1]))
