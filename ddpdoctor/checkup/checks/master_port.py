"""# DD313 master-port-free

## What
Nobody listens yet on the port at which the ranks will meet, if this node is the master. The kernel's list of sockets is
read; nothing is connected to, so that a job that runs is not disturbed.

## Why it matters
If an earlier job, or a zombie of one, still has the port, the new job fails with `EADDRINUSE`, or joins the old job's
store and hangs.

## Fix
End the old job, or choose another port; on one node `torchrun --standalone` finds a free one.

## When it is wrong
If this node is not the master, its ports do not matter. A port that is free now may be taken later.
"""

from __future__ import annotations

from ddpdoctor.checkup.check import Check
from ddpdoctor.checkup.judgement import Judgement, ok, problem, unknown
from ddpdoctor.checkup.machine import Machine

CHECK = Check("DD313", "master-port-free")


def judge(machine: Machine) -> Judgement:
    port = machine.launch.master_port
    if port is None or machine.listening is None:
        return unknown("the command names no port: not applicable" if port is None else "the ports cannot be asked")
    if machine.master and not machine.is_master:
        return ok(f"the master at {machine.master.asked} is another node; its port {port} was not tried")
    if port in machine.listening:
        return problem(f"somebody listens on port {port} already", f"ss -ltnp 'sport = :{port}'")
    return ok(f"port {port} is free")
