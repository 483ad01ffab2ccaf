"""# DD318 clock-in-step

## What
Something keeps this node's clock in step with the world's (chrony, ntpd, systemd-timesyncd, the host of a virtual
machine), as the kernel says: adjtimex(2) knows whether the clock is synchronised, and its largest error. With `--meet`
the clocks of the nodes are compared, and one that is more than 0.1 s from the others' is named.

## Why it matters
The clocks of nodes that nothing keeps in step drift apart by seconds a day. Then the logs of several nodes cannot be
put in order, a file of a shared file system seems to come from the future, and who chooses the newest checkpoint by its
time may choose another one on each node.

## Fix
Run chrony or another NTP client on each node. A container has its host's clock.

## When it is wrong
Without `--meet` the clocks of two nodes are not compared: that needs a connection. A virtual machine may take its clock
from its host without telling the kernel. A comparison is as exact as half the round trip between the nodes, which is
given with it. ddpdoctor itself never compares the clocks of two nodes in a verdict: ranks are put in order by their
collectives.

## References
https://man7.org/linux/man-pages/man2/adjtimex.2.html
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from ddpdoctor.checkup.check import Check
from ddpdoctor.checkup.judgement import Judgement, note, ok, unknown, warning
from ddpdoctor.checkup.machine import Machine, Peer

#: seconds: between two answers of a server, half an hour apart, the kernel counts up to one
_TOO_MUCH = 2.0
#: seconds; nodes that something keeps in step are within a few milliseconds
_APART = 0.1
_STATE = "timedatectl timesync-status || chronyc tracking"

CHECK = Check("DD318", "clock-in-step")


def judge(machine: Machine) -> Judgement:
    """What the nodes that met say of each other comes before what the kernel says of this one."""
    peers = [peer for peer in machine.meeting.peers if peer.offset is not None] if machine.meeting else []
    return _compared(peers) if len(peers) > 1 else _alone(machine)


def _compared(peers: Sequence[Peer]) -> Judgement:
    """The clock that is furthest from the middle one."""
    middle = sorted(peers, key=_offset)[(len(peers) - 1) // 2]
    furthest = max(peers, key=lambda peer: abs(_offset(peer) - _offset(middle)))
    apart = _offset(furthest) - _offset(middle)
    doubt = (furthest.uncertainty or 0) + (middle.uncertainty or 0)
    within = f"(+-{doubt * 1000:.1f} ms)"
    if abs(apart) <= _APART + doubt:
        return ok(f"the clocks of {len(peers)} nodes agree within {(abs(apart) + doubt) * 1000:.1f} ms")
    which = "ahead of" if apart > 0 else "behind"
    said = (
        f"the clock of {furthest.host} is {abs(apart):.1f} s {which} {middle.host}'s {within}: their logs cannot be "
        "put in order by time, and certificates and time limits may fail; verdicts go by collectives, not by clocks"
    )
    return warning(said, f"ssh {shlex.quote(furthest.host)} sudo chronyc makestep", _STATE)


def _offset(peer: Peer) -> float:
    return peer.offset or 0.0


def _alone(machine: Machine) -> Judgement:
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
