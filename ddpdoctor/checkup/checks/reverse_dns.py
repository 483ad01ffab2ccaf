"""# DD314 reverse-dns-fast

## What
The resolver answers within a second which name this node's address has, and which address its name has.

## Why it matters
torchrun asks for the full name of its host (`socket.getfqdn`), and torch's store for the name of each address that it
connects to. If the resolver does not answer, each question takes seconds to minutes, and with many ranks the start
exceeds its timeout and looks like a hang.

## Fix
Write the nodes' names and addresses into /etc/hosts, or mend the resolver.

## When it is wrong
The check asks for this node alone; with `--meet` each node tells how long its own took. No name for an address is in
order as long as the answer comes fast.

## References
https://github.com/pytorch/pytorch/issues/159007 https://github.com/pytorch/pytorch/pull/159596
"""

from __future__ import annotations

import shlex

from ddpdoctor.checkup.check import Check
from ddpdoctor.checkup.judgement import Judgement, ok, problem, unknown, warning
from ddpdoctor.checkup.machine import Machine

_SLOW, _TOO_SLOW = 1.0, 5.0

CHECK = Check("DD314", "reverse-dns-fast")


def judge(machine: Machine) -> Judgement:
    asked = [found for found in (machine.own_name, machine.own_address) if found is not None]
    if not asked:
        return unknown("this node's name is not known")
    slowest = max(asked, key=lambda found: found.seconds)
    said = f"{slowest.asked} took {slowest.seconds:.1f} s to resolve"
    remedy = f"time getent hosts {slowest.asked}"
    if slowest.seconds >= _TOO_SLOW:
        return problem(said, remedy, f"echo '<address> {slowest.asked}' | sudo tee -a /etc/hosts")
    if slowest.seconds >= _SLOW:
        return warning(said, remedy)
    if machine.own_name and not machine.own_name.answers:
        return warning(
            f"this node's own name {machine.own_name.asked} cannot be resolved",
            f"getent hosts {machine.own_name.asked}",
        )
    peers = machine.meeting.peers if machine.meeting else ()
    for peer in peers:
        if (peer.reverse_dns or 0) >= _SLOW:
            took = f"the resolver of {peer.host} took {peer.reverse_dns:.1f} s for that node's own name"
            return warning(took, f"ssh {shlex.quote(peer.host)} ddpdoctor check")
    return ok(f"the resolver answers in {slowest.seconds:.2f} s")
