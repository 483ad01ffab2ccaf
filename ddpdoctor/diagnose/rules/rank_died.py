"""# DD251 rank-died

## What
A rank raised an exception or was killed; the other ranks lost it or wait for it. Or ranks, or their launcher, were
ended from outside: then no rank is to blame, and the diagnosis says what is known of the sender.

## Why it hangs
On NCCL nothing notifies the other ranks, and they wait until a timeout. On gloo their connections break and they raise
errors of their own ("Connection closed by peer"), so that several tracebacks hide the one that matters.

## Example
    stars = float(event["stars"])            # KeyError in one rank's part of the data

## Fix
Fix the error in the first traceback. A rank killed by SIGKILL has often used more memory than the machine or the
container allows: look for the out-of-memory killer in `dmesg`.

## When it is wrong
A signal that a rank sends itself looks like one from outside. Times are compared on one machine's clock. If the death
of the first rank was not recorded, a victim may be named.

## References
https://github.com/facebookresearch/fairseq/issues/810 https://github.com/pytorch/pytorch/issues/150916
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import RANK_DIED
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest import failure as failures
from ddpdoctor.diagnose.digest.exceptions import retry_of
from ddpdoctor.diagnose.digest.failure import Failure
from ddpdoctor.diagnose.digest.outcome import cap_of_death, weaker
from ddpdoctor.diagnose.divergence.divergences import divergences
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.evidence import RankEvidence
from ddpdoctor.model.processes import JobEnd
from ddpdoctor.model.ranks import RankSet
from ddpdoctor.model.stacks import Site

#: torchrun's summary gives the time of a failure in whole seconds
LOG_CLOCK_SECONDS = 1.0


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    own = [failure for failure in facts.failures if not failure.victim]
    if own and own[0].outside:
        yield _from_outside(facts, own[0])
        return
    teller = next((failure for failure in own if failures.not_passed(failure)), None)
    if teller is not None:
        yield _of_missing(facts, teller, RankSet.of(failures.not_passed(teller)))
    elif own:
        alike = _alike(facts, own)
        yield _diagnosis(facts, own[0], alike, len(own) - len(alike) + 1)
    elif facts.evidence.end and facts.evidence.end.status != 0 and not facts.failures:
        yield _of_launcher(facts, facts.evidence.end)


def _from_outside(facts: Facts, first: Failure) -> Diagnosis:
    """Several ranks, or the launcher, got a signal: what is known of its sender is the story."""
    evidence = facts.evidence
    passed_on = failures.sent_before(evidence, first)
    told = failures.told_by_launcher(evidence, first)
    number = passed_on or told or -(first.status or 0)
    name = _signal_name(number)
    together = RankSet.of(one.rank for one in facts.failures if one.outside and one.status == first.status)
    who = wording.ranks(together)
    were = wording.verb(together, "was", "were")
    unseen = evidence.unseen()
    why = f"No rank failed by itself: {name} ended {who}, and its sender is not known."
    if passed_on:
        summary = f"the job was ended from outside: `watch` was sent {name}"
        why = f"No rank failed before: `watch` passed {name} on to the job, and what ended after it is a consequence."
    elif told and unseen:
        summary = f"the launcher sent {name} to {who}; nothing is known about {wording.ranks(unseen)}"
        why = (
            "A launcher does so when somebody ends it, and when it has lost another node: a rank may have failed there."
        )
    elif told:
        summary = f"the job was ended from outside: its launcher sent {name} to {who}, and no rank had failed before"
        why = "No rank failed by itself: somebody told the launcher to end, or it lost another node."
    else:
        summary = f"{who} {were} ended from outside by {name}"
    return diagnosis(
        RANK_DIED,
        facts.waiting,
        confidence=Confidence.POSSIBLE if unseen else Confidence.LIKELY,
        summary=summary,
        why=why,
        fix=_FIX_MEMORY if _killed_for_memory(facts, first) else _fix_outside(number),
        locations=facts.locations_of(together),
        evidence=tuple(_evidence(facts, first)),
    )


_FIX_MEMORY = (
    "Let the ranks and their data workers use less memory, or raise the limit of the machine, the container or the "
    "job; `dmesg` has what each process used."
)


def _killed_for_memory(facts: Facts, first: Failure) -> bool:
    """Whether it got SIGKILL, and the kernel has killed some process of this machine for memory since the start."""
    return first.status == -signal.SIGKILL and facts.evidence.memory_kills > 0


def _memory_limit(facts: Facts, first: Failure) -> str:
    limit = " The kernel kills processes for memory here: a memory limit is the likely cause, and no line of the job."
    return limit if _killed_for_memory(facts, first) else ""


def _fix_outside(number: int) -> str:
    if number == signal.SIGKILL:
        return (
            "Look for who killed the job: the out-of-memory killer (`dmesg`, the container's events), a scheduler "
            "after its grace period, a person."
        )
    return (
        "Nothing in the job needs a change for this. Look for the sender if it is not known: a time limit, a "
        "preemption, a container that was stopped, a person."
    )


def _of_launcher(facts: Facts, end: JobEnd) -> Diagnosis:
    """The command failed, and no rank that was seen did."""
    alive = RankSet.of(seen.rank for seen in facts.evidence.ranks if seen.process and seen.process.state not in "ZX")
    pids = " ".join(str(facts.rank(rank).worker.pid) for rank in alive)
    what, sent = _ended_with(end.status), failures.sent_before_end(end)
    by = f" after `watch` was sent {_signal_name(sent)}" if sent else ""
    why, fix = "No rank is known to have failed.", "Read the launcher's own last lines, and those of each rank."
    if alive:
        summary = (
            f"the job's launcher {what}{by}; {wording.ranks(alive)} {wording.verb(alive, 'runs', 'run')} on without it"
        )
        why = f"{why} A launcher that is killed cannot end its ranks."
        fix = f"End what is left if it is not wanted: `kill {pids}`."
    elif sent:
        summary = f"the job was ended from outside: `watch` was sent {_signal_name(sent)}"
        why = f"{why} `watch` passed {_signal_name(sent)} on to the job."
        fix = _fix_outside(sent)
    else:
        summary = f"the job's launcher {what}{'' if end.status < 0 else ', and no rank left a word on why'}"
    return diagnosis(
        RANK_DIED,
        facts.waiting,
        confidence=Confidence.LIKELY if end.status < 0 or sent else Confidence.POSSIBLE,
        summary=summary,
        why=why,
        fix=fix,
        locations=facts.locations_of(alive),
        evidence=(f"the launcher {what}",),
    )


def _ended_with(status: int) -> str:
    if status >= 0:
        return f"exited with status {status}"
    name = _signal_name(-status)
    return f"was killed by {name}" if name == "SIGKILL" else f"died of {name}"


def _signal_name(number: int) -> str:
    """SIGTERM for 15; "signal 77" for a number without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _of_missing(facts: Facts, first: Failure, missing: RankSet) -> Diagnosis:
    """A monitored barrier has ended the job: torch itself says for whom it waited."""
    site = failures.failure_site(facts.rank(first.rank), first)
    where = f" at {wording.place(site)}" if site else ""
    who = wording.ranks(missing)
    return diagnosis(
        RANK_DIED,
        facts.waiting,
        confidence=Confidence.LIKELY,
        culprits=missing,
        summary=f"{who} did not reach the monitored_barrier{where} in time, and rank {first.rank} gave up",
        why=f"torch's own message on rank {first.rank} names {who}; the ends of the other ranks are a consequence.",
        fix=f"Find out what held {who} up, from the place given here; the barrier only shows it.",
        locations=(*facts.locations_of(missing), *((facts.location([first.rank], site),) if site else ())),
        evidence=(f"rank {first.rank}: {failures.said(first.raised)}",) if first.raised else (),
    )


def _alike(facts: Facts, own: Sequence[Failure]) -> RankSet:
    """The first rank that failed, and those that raised the same at the same line: the order in a log means nothing."""
    first = own[0]
    if first.raised is None or facts.rank(first.rank).page is not None:
        return RankSet.of([first.rank])
    kind, site = first.raised.type, failures.raised_site(first.raised)
    return RankSet.of(
        one.rank
        for one in own
        if one is first or (one.raised and site and (one.raised.type, failures.raised_site(one.raised)) == (kind, site))
    )


def _diagnosis(facts: Facts, first: Failure, culprit: RankSet, reasons: int) -> Diagnosis:
    seen = facts.rank(first.rank)
    site = failures.failure_site(seen, first)
    others = RankSet.of(facts.states) - culprit
    victims = RankSet.of(failure.rank for failure in facts.failures if failure.victim)
    known = _raised_known(facts) and _end_known(seen)
    sure = reasons == 1 and not facts.evidence.unseen() and _has_its_own_reason(first) and known
    cap = cap_of_death(first, parted=seen.page is None or bool(divergences(facts)))
    confidence = weaker(Confidence.CERTAIN if sure else Confidence.LIKELY, cap)
    blamed = Confidence.POSSIBLE if _together(facts, first) else confidence
    locations = (facts.location(culprit, site),) if site else ()
    return diagnosis(
        RANK_DIED,
        facts.waiting,
        confidence=confidence,
        blame=blamed,
        culprits=culprit,
        summary=_summary(first, culprit, site),
        why=_why(first, culprit, victims, facts.waiting - culprit) + _memory_limit(facts, first),
        fix=_FIX_MEMORY if _killed_for_memory(facts, first) else _fix(first, culprit),
        locations=(*locations, *facts.locations_of(rank for rank in others if rank in facts.waiting)),
        evidence=tuple(_evidence(facts, first)),
        traceback=first.raised.traceback if first.raised else "",
        retry=retry_of(first.raised),
    )


def _has_its_own_reason(first: Failure) -> bool:
    """An exception, or a signal that nothing in the job sends.

    An exit status alone may be a victim's. gloo aborts where operations of unequal size meet: then the death is only
    how a mismatch shows. SIGTERM and SIGINT come from launchers and users.
    """
    if first.raised is not None:
        return not failures.is_peer_loss(first.raised) and not first.hidden
    status = first.status or 0
    return status < 0 and -status not in (signal.SIGABRT, signal.SIGTERM, signal.SIGINT)


def _gave_up(first: Failure) -> bool:
    """It lost a peer or timed out waiting for one, as did all that failed: the first failure is not on record."""
    return first.raised is not None and failures.is_peer_loss(first.raised)


def _together(facts: Facts, first: Failure) -> bool:
    """Others failed for reasons of their own within the same second, and only a log's clock says which was first."""
    if facts.rank(first.rank).page is not None or first.raised is not None:
        return False
    others = [failure for failure in facts.failures if not failure.victim and failure.rank != first.rank]
    return any(abs(other.time - first.time) <= LOG_CLOCK_SECONDS for other in others)


def _raised_known(facts: Facts) -> bool:
    """Every rank that failed has left its page, so none can have raised earlier unnoticed."""
    return all(facts.rank(failure.rank).page is not None for failure in facts.failures)


def _end_known(seen: RankEvidence) -> bool:
    """Whether it was seen to end: with neither an exit nor a process it may be alive, and held up on its way out."""
    return seen.page is None or seen.exit is not None or seen.process is not None


def _summary(first: Failure, culprit: RankSet, site: Site | None) -> str:
    where = f" at {wording.place(site)}" if site else ""
    if sizes := failures.sizes_differ(first):
        return (
            f"operations of unequal size were paired on rank {first.rank}: {sizes[0]} bytes arrived where it expected "
            f"{sizes[1]}"
        )
    if first.raised:
        message = failures.said(first.raised)
        text = f": {message}" if message else ""
        return f"{wording.ranks(culprit)} raised {first.raised.type}{text}{where}"
    if first.status is None:
        return f"rank {first.rank} is gone" + (f"; it was last seen at {wording.place(site)}" if site else "")
    if first.after_end:
        last = f", whose last call was{where}" if site else ""
        return f"rank {first.rank} {_ended(first)} after the end of its program{last}"
    return f"rank {first.rank} {_ended(first)}{where}"


def _ended(first: Failure) -> str:
    return "had ended" if first.status is None else _ended_with(first.status)


def _why(first: Failure, culprit: RankSet, victims: RankSet, waiting: RankSet) -> str:
    parts = [f"Rank {first.rank} failed first."]
    if len(culprit) > 1:
        parts = [
            (
                f"{wording.ranks(culprit).capitalize()} raised the same exception at one line: none is a victim of "
                "another."
            )
        ]
    if _gave_up(first):
        parts = [
            f"Rank {first.rank} failed first, but only because a peer was lost or did not arrive in time. No rank has "
            "a failure of its own on record."
        ]
    if failures.sizes_differ(first):
        parts = [
            f"gloo ended rank {first.rank} by SIGABRT: another rank's operation was paired with its own and sent more "
            "bytes. Some rank was in another collective, or passed a tensor of another size; that need not be the one "
            "that died."
        ]
    if first.after_end:
        parts.append("Its program had ended without an error: this came while its interpreter and its libraries ended.")
    if victims:
        what = wording.verb(victims, "its end is", "their ends are")
        parts.append(f"{wording.ranks(victims).capitalize()} only lost it: {what} a consequence.")
    if waiting:
        verb = wording.verb(waiting, "waits", "wait")
        parts.append(f"{wording.ranks(waiting).capitalize()} still {verb} for it.")
    return " ".join(parts)


def _fix(first: Failure, culprit: RankSet) -> str:
    if _gave_up(first):
        return (
            "Find out why the peer that it waited for did not arrive: a longer timeout leaves `ddpdoctor watch` time "
            "to see the hang itself, and each rank's own log may show an exit that was not recorded."
        )
    if failures.sizes_differ(first):
        return (
            "Compare where each rank was: the tracebacks, and py-spy's stacks for ranks that are still alive. Under "
            "`ddpdoctor watch` the calls of all ranks are compared."
        )
    if first.raised:
        others = "" if len(culprit) > 1 else "; the other ranks need no change"
        return f"Fix the error in rank {first.rank}'s traceback{others}."
    if first.status == -9:
        return (
            "Look in `dmesg` and in the container's events for the out-of-memory killer, or for the sender of SIGKILL."
        )
    if first.after_end and first.status == -signal.SIGABRT:
        return (
            "Nothing of the program itself was left to do. A thread of gloo that still holds an operation can abort "
            "the interpreter as it ends (https://github.com/pytorch/pytorch/issues/190489): let each rank wait for a "
            "moment after destroy_process_group()."
        )
    if first.status is not None and first.status < 0:
        return f"Read rank {first.rank}'s own output and the fault handler's stack: native code ended the process."
    if first.status is None:
        return f"Find out how rank {first.rank} ended: `dmesg`, its launcher's output, its own log; the others need it."
    return f"Find out why rank {first.rank} exited with this status; the others need it."


def _evidence(facts: Facts, first: Failure) -> Iterator[str]:
    timing = facts.evidence.timing
    started = timing.started
    clocked = timing.collected > started  # the evidence does not show when the job began
    if _killed_for_memory(facts, first):
        yield f"processes that the kernel killed for memory since the start: {facts.evidence.memory_kills}"
    for failure in facts.failures:
        what = f"raised {failure.raised.type}" if failure.raised else _ended(failure)
        role = "" if failure is first else (" (a victim)" if failure.victim else "")
        when = f" {wording.seconds(failure.time - started)} after the start" if clocked else ""
        yield f"rank {failure.rank} {what}{when}{role}"
