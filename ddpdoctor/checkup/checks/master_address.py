"""# DD312 master-address-resolves

## What
The address at which the ranks meet (`--master-addr`, `--rdzv-endpoint`, `MASTER_ADDR`) can be resolved, and is not this
node's loopback where there are several nodes.

## Why it matters
A name that does not resolve on one node leaves all others waiting in `init_process_group`. A name that a node resolves to
127.0.1.1 (Debian writes its own name so into /etc/hosts) makes the ranks of that node look for the master at home.

## Fix
Use an address, or a name that all nodes resolve to the same address: `getent hosts NAME`.

## When it is wrong
Each node may have another resolver: run the check on each. Whether the address can be reached is not tried.
"""

from __future__ import annotations

from ddpdoctor.checkup.check import Check
from ddpdoctor.checkup.judgement import Judgement, ok, problem, unknown, warning
from ddpdoctor.checkup.machine import Machine

_SLOW = 1.0

CHECK = Check("DD312", "master-address-resolves")


def judge(machine: Machine) -> Judgement:
    found = machine.master
    if found is None:
        return unknown("the command names no master address: not applicable")
    if not found.answers:
        return problem(f"{found.asked} cannot be resolved: {found.error}", f"getent hosts {found.asked}")
    loopback = all(address.startswith("127.") or address == "::1" for address in found.answers)
    if loopback and machine.launch.nodes > 1:
        said = f"{found.asked} is {found.answers[0]} here, which other nodes cannot reach"
        return problem(said, f"grep -n {found.asked} /etc/hosts")
    if found.seconds > _SLOW:
        return warning(f"{found.asked} took {found.seconds:.1f} s to resolve", f"time getent hosts {found.asked}")
    return ok(f"{found.asked} is {found.answers[0]}")
