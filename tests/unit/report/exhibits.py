"""Exhibits of jobs that the builders make: what the drawn forms are tested on."""

from __future__ import annotations

from dataclasses import replace

from ddpdoctor import exhibit
from ddpdoctor.diagnose import engine
from ddpdoctor.model.collectives import Kind
from ddpdoctor.model.evidence import Evidence, RankEvidence
from ddpdoctor.model.exhibit import Exhibit
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.stacks import Stacks
from tests.unit.diagnose.builders import Act, At, Doing, job
from tests.unit.diagnose.stories import AT, CODE, MAIN, epoch, in_backward

#: markup, an attribute's end, a terminal escape, a mark that turns the direction of text, Markdown
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&`**]|\x1b[31m\u202e"


def of(evidence: Evidence) -> Exhibit:
    """The evidence with its verdict."""
    return exhibit.of(engine.examine(evidence), evidence)


def alone_in_a_barrier(world: int = 4) -> Exhibit:
    """Rank 0 saves and waits in a barrier, the others are in the next backward."""
    barrier = AT.all("barrier", 6, function="save")
    first = Doing([*epoch(6), barrier], callers=(AT.line(15), MAIN))
    return of(job([first, *[in_backward(7)] * (world - 1)], code=CODE))


def in_a_ring(world: int = 3) -> Exhibit:
    """Each rank sends to the next one, and none receives."""
    at = At()
    sends = [
        Doing([*epoch(2), Act(EventKind.CALL, at.line(12), "send", Kind.SEND, peer=(rank + 1) % world)])
        for rank in range(world)
    ]
    return of(job(sends, code=CODE))


def healthy(world: int = 3) -> Exhibit:
    """All ranks have ended after some epochs, each with a barrier."""
    acts = [*epoch(3), AT.all("barrier", 21), *epoch(3), AT.all("all_reduce", 27)]
    return of(job([Doing(acts, blocked=False, exit_status=0)] * world, code=CODE))


def hostile() -> Exhibit:
    """Everything that a process can choose is markup."""
    shown = alone_in_a_barrier()
    assert shown.evidence is not None
    evidence = replace(
        shown.evidence,
        ranks=tuple(_hostile(seen) for seen in shown.evidence.ranks),
        command=("torchrun", HOSTILE),
        versions={"torch": HOSTILE, HOSTILE: "1"},
        environment={HOSTILE: f"{HOSTILE}: {HOSTILE}"},
        notes=(HOSTILE,),
    )
    made = exhibit.of(engine.examine(evidence), evidence)
    first = made.report.diagnoses[0]
    place = replace(first.locations[0], file=f"/job/{HOSTILE}.py", function=HOSTILE, source=HOSTILE)
    first = replace(
        first, summary=HOSTILE, why=HOSTILE, fix=HOSTILE, evidence=(HOSTILE,), traceback=HOSTILE, locations=(place,)
    )
    ranks = tuple(replace(status, state=HOSTILE, label=HOSTILE, location=place) for status in made.report.ranks)
    return replace(made, report=replace(made.report, diagnoses=(first,), ranks=ranks))


def _hostile(seen: RankEvidence) -> RankEvidence:
    assert seen.page is not None
    assert seen.stacks is not None
    threads = tuple(
        replace(
            thread,
            os_id=thread.os_id + number,
            name=HOSTILE,
            frames=tuple(replace(site, file=HOSTILE, function=HOSTILE) for site in thread.frames),
        )
        for number, thread in enumerate(seen.stacks.threads * 2)
    )
    group = replace(seen.page.groups[0], description=HOSTILE)
    events = tuple(
        replace(
            event,
            site=replace(event.site, file=HOSTILE, function=HOSTILE) if event.site else None,
            call=replace(event.call, op=HOSTILE, group=replace(group, name=HOSTILE)) if event.call else None,
        )
        for event in seen.page.events
    )
    page = replace(seen.page, events=events, groups=(group,), backend=HOSTILE)
    return replace(seen, page=page, stacks=Stacks(seen.stacks.source, threads))
