"""Hosts on one machine: network, clock and name of their own, joined by a bridge. Everything ends with this process.

Started in namespaces of its own (tests/e2e/nodes.py) with the number of nodes. Reads one JSON line for each task:

    {"node": 0, "run": [...], "env": {...}, "cwd": "...", "out": "...", "err": "..."}
    {"link": 1, "up": false}
    {"node": 1, "reach": false}

The last of them is about the addresses of a second network, which the job may have its store in. With `silent` after
the number, names and addresses are asked of a resolver that never answers.

It writes one for each program that has ended: {"node": 0, "ended": 124}.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

NETWORK = "10.77.0."
#: a second address of each node, on the same wire
STORES = "10.78.0."
#: where the resolver that does not answer listens, on each node
RESOLVER = "127.0.0.53"
#: seconds between the monotonic clocks of two nodes
APART = 500_000


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, stdout=subprocess.DEVNULL)


def address(node: int, network: str = NETWORK) -> str:
    return f"{network}{node + 1}"


def name_hosts(number: int, *, silent: bool) -> None:
    """No name is looked up anywhere else; where the resolver is `silent`, only a host's own name is known."""
    names = "".join(f"{address(i, net)} node-{i}\n" for net in (NETWORK, STORES) for i in range(number))
    with tempfile.NamedTemporaryFile("w", delete=False) as hosts:
        hosts.write("127.0.0.1 localhost\n" + ("" if silent else names))
    Path(hosts.name).chmod(0o644)
    subprocess.run(["mount", "--bind", hosts.name, "/etc/hosts"], check=True)
    with tempfile.NamedTemporaryFile("w", delete=False) as resolver:
        resolver.write(f"nameserver {RESOLVER}\n" if silent else "")
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


def laboratory(number: int, *, silent: bool) -> None:
    name_hosts(number, silent=silent)
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
    for network in (NETWORK, STORES):
        ip("addr", "add", f"{address(node, network)}/24", "dev", "eth0")
    ip("link", "set", "eth0", "up")
    resolver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    resolver.bind((RESOLVER, 53))
    print("up", flush=True)
    for line in sys.stdin:
        wanted = json.loads(line)
        if "reach" in wanted:
            ip("route", "del" if wanted["reach"] else "add", "unreachable", address(0, STORES) + "/32")
        else:
            threading.Thread(target=run, args=(node, wanted), daemon=True).start()
    resolver.close()


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
        laboratory(int(sys.argv[1]), silent="silent" in sys.argv)
