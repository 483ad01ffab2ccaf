"""# DD311 socket-interface-exists

## What
The interfaces that `NCCL_SOCKET_IFNAME` and `GLOO_SOCKET_IFNAME` name exist on this node.

## Why it matters
A name from another cluster makes NCCL fail with `no socket interface found`. Two variables that name different networks
make ranks wait for connections that never come.

## Fix
Name an interface that exists on every node, or unset the variable.

## When it is wrong
Interfaces may differ between nodes: run the check on each.

## References
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-socket-ifname
"""

from __future__ import annotations

from ddpdoctor.checkup.check import Check
from ddpdoctor.checkup.judgement import Judgement, ok, problem, unknown
from ddpdoctor.checkup.machine import Machine

NAMES = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME")

CHECK = Check("DD311", "socket-interface-exists")


def judge(machine: Machine) -> Judgement:
    named = {name: value for name in NAMES if (value := machine.environ.get(name, "").strip())}
    if not machine.interfaces:
        return unknown("the network interfaces cannot be asked")
    for name, value in named.items():
        if not any(_selects(name, value, interface) for interface in machine.interfaces):
            there = ", ".join(sorted(machine.interfaces))
            return problem(f"{name}={value} selects none of this node's interfaces ({there})", f"unset {name}")
    said = ", ".join(f"{name}={value}" for name, value in named.items())
    return ok(f"{said} selects an interface of this node" if named else "no variable limits the interfaces")


def _selects(variable: str, value: str, interface: str) -> bool:
    """NCCL: a list of prefixes, `=` for exact names, `^` for all others. Gloo: exact names."""
    excluding = value.startswith("^")
    names = value.lstrip("^=").split(",")
    if variable == "GLOO_SOCKET_IFNAME" or "=" in value[:2]:
        found = interface in names
    else:
        found = any(interface.startswith(name) for name in names if name)
    return found != excluding
