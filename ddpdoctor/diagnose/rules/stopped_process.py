"""A rank's process is stopped (SIGSTOP, a debugger, a frozen cgroup) and the others wait for it.

What happens
    The kernel has taken the process off the processor: job control (SIGSTOP, SIGTSTP), a debugger that holds it,
    or a memory guard that stops it for inspection. Nothing in it runs, the heartbeat of its page included.

Why it hangs
    Every collective needs all members. A stopped member never enters the next one, and it can neither time out
    nor say anything.

Example
    os.kill(os.getpid(), signal.SIGSTOP)

Fix
    Continue it (`kill -CONT <pid>`) and find out who stopped it: a shell's job control, a debugger, a guard.

When it is wrong
    A process that you stopped on purpose. It may be continued at any moment, so the deadlock is never `proven`.

References
    signal(7), proc(5): state T and t.
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.diagnose.rule import Rule
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.evidence import Source
from ddpdoctor.model.ranks import RankSet

RULE = Rule("DD244", "stopped-process", frozenset({Source.PROCESSES}), fixture="stopped-process")


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    stopped = [r for r in facts.evidence.ranks if r.process is not None and r.process.state in ("T", "t")]
    if not stopped:
        return
    culprits = RankSet.of(r.rank for r in stopped)
    pids = ", ".join(str(r.worker.pid) for r in stopped)
    traced = any(r.process is not None and r.process.state == "t" for r in stopped)
    waiting = facts.graph.waiting() - culprits
    yield RULE.finding(
        culprits=culprits,
        waiting=waiting,
        confidence=Confidence.CERTAIN,
        culprit_confidence=Confidence.CERTAIN,
        summary=f"rank {culprits} is stopped by {'a debugger' if traced else 'a signal'} (pid {pids})",
        why="A stopped process runs no code at all, so it never enters the collective that the others are in.",
        fix=f"Continue it with `kill -CONT {pids.replace(',', '')}`, and find out what stopped it.",
        locations=(*facts.locations_of(culprits), *facts.locations_of(waiting)),
        evidence=tuple(f"the kernel says that rank {r.rank} (pid {r.worker.pid}) is in state T" for r in stopped),
    )
