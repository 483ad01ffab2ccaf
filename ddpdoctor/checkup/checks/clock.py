"""# DD318 clock-in-step

## What
Something keeps this node's clock in step with the world's (chrony, ntpd, systemd-timesyncd, the host of a virtual
machine), as the kernel says: adjtimex(2) knows whether the clock is synchronised, and its largest error.

## Why it matters
The clocks of nodes that nothing keeps in step drift apart by seconds a day. Then the logs of several nodes cannot be
put in order, a file of a shared file system seems to come from the future, and who chooses the newest checkpoint by its
time may choose another one on each node.

## Fix
Run chrony or another NTP client on each node. A container has its host's clock.

## When it is wrong
The clocks of two nodes are not compared: that needs a connection, and this check makes none. Run it on each node; the
command that it prints compares two. A virtual machine may take its clock from its host without telling the kernel.
ddpdoctor itself never compares the clocks of two nodes.

## References
https://man7.org/linux/man-pages/man2/adjtimex.2.html
"""

from __future__ import annotations

from ddpdoctor.checkup.check import Check
from ddpdoctor.checkup.judgement import Judgement, note, ok, unknown, warning
from ddpdoctor.checkup.machine import Machine

#: seconds: between two answers of a server, half an hour apart, the kernel counts up to one
_TOO_MUCH = 2.0
_STATE = "timedatectl timesync-status || chronyc tracking"

CHECK = Check("DD318", "clock-in-step")


def judge(machine: Machine) -> Judgement:
    clock = machine.clock
    if clock is None:
        return unknown("the kernel does not say whether the clock is in step")
    if clock.synchronised and clock.error <= _TOO_MUCH:
        return ok(f"the clock is kept in step, within {clock.error:.3f} s")
    if clock.synchronised:
        return warning(f"the clock may be wrong by {clock.error:.1f} s", _STATE)
    said = "nothing that the kernel knows of keeps the clock in step"
    if machine.launch.nodes < 2:
        return unknown(f"{said}; with one node that is of no account")
    other = machine.launch.master_address or "OTHER-NODE"
    return note(
        f"{said}: how far it is from the other nodes' is not known", _STATE, f"date +%s.%N; ssh {other} date +%s.%N"
    )
