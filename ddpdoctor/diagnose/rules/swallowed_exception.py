"""# DD208 swallowed-exception

## What
An exception on one rank (out of memory, a bad sample, a full disk) was caught, and the rank continued with its next
batch without the remaining work of the `try`. A context manager can do the same (`contextlib.suppress`, an `__exit__`
that returns a true value).

## Why it hangs
The rank issued one gradient all-reduce, or one barrier, fewer. From then on its collectives are paired with earlier
ones of the other ranks, or with none, until the others are left without a partner.

## Example
    try:
        loss = model(batch).sum()
        loss.backward()
    except torch.OutOfMemoryError:
        continue                             # on this rank only

## Fix
Let the exception end the job, or let all ranks agree on the retry through a collective outside the `try`.

## When it is wrong
An exception of a DataLoader is recorded, and if the rank continued without that batch, the diagnosis is `certain`. Any
other caught exception leaves no trace: the diagnosis then rests on the work being in a `try` and nothing else leading
past it; in a loop without a DataLoader also on the loop's counter, which shows that the rank took the turn. A generator
that silently drops batches (DD207) cannot be excluded, so it is `likely`. It is `certain` only if one of the program's
own collectives is skipped and one `except` is the only path past it.

## References
https://github.com/pytorch/pytorch/issues/18853 https://github.com/pytorch/pytorch/issues/44353
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import SWALLOWED_EXCEPTION
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest.histories import HistoryStep
from ddpdoctor.diagnose.digest.outcome import weaker
from ddpdoctor.diagnose.divergence import decisions, except_clauses, loader_errors
from ddpdoctor.diagnose.divergence.causes import Cause, divergences_of
from ddpdoctor.diagnose.divergence.cfg_model import EdgeKind
from ddpdoctor.diagnose.divergence.divergences import Divergence
from ddpdoctor.diagnose.divergence.patterns import Pattern
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.progress import EventKind
from ddpdoctor.model.stacks import Site


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    for divergence in divergences_of(facts, Cause.CAUGHT_EXCEPTION):
        loader = loader_errors.loader_raised(facts, divergence)
        if loader:
            yield _of_loader(facts, divergence, loader)
        elif divergence.reference_next and divergence.reference_next.site:
            yield _diagnosis(facts, divergence, divergence.reference_next, divergence.reference_next.site)


def _of_loader(facts: Facts, divergence: Divergence, loader: Site) -> Diagnosis:
    """The data iterator raised and the rank continued: the exception was caught."""
    confidence = weaker(Confidence.CERTAIN if divergence.unique else Confidence.LIKELY, divergence.cap)
    handler = except_clauses.handler_of_next(facts.program, loader)
    odd, reference = wording.ranks(divergence.odd), wording.ranks(divergence.reference)
    return diagnosis(
        SWALLOWED_EXCEPTION,
        facts.waiting,
        confidence=confidence,
        blame=divergence.blame(confidence),
        culprits=divergence.culprits,
        summary=(
            f"the data loader of {wording.place(loader)} raised an exception on {odd}, which continued without that "
            "batch"
        ),
        why=(
            f"{odd.capitalize()} caught the exception and issued fewer gradient all-reduces than {reference}, so all "
            f"later operations are paired with the wrong ones: {reference} "
            f"{wording.now(facts, divergence.reference)}, {odd} {wording.now(facts, divergence.odd)}."
        ),
        fix=(
            "Do not catch it on one rank: fix or omit the bad sample in the dataset itself, so that every "
            "batch is delivered on every rank, or let the exception end the job."
        ),
        locations=(
            facts.location(divergence.culprits, handler or loader),
            *facts.locations_of((*divergence.reference, *divergence.odd)),
        ),
        evidence=(wording.parted(divergence.odd_next, divergence.reference_next),),
    )


def _diagnosis(facts: Facts, divergence: Divergence, skipped: HistoryStep, site: Site) -> Diagnosis:
    # a call in the program's own lines cannot be dropped silently, as a generator drops a batch
    sure = skipped.kind is EventKind.CALL and divergence.unique and len(divergence.branch_points) == 1
    confidence = weaker(Confidence.CERTAIN if sure else Confidence.LIKELY, divergence.cap)
    handlers = [point for point in divergence.branch_points if point.taken is EdgeKind.RAISED]
    caught = handlers[0].site if handlers else site
    shown = handlers[0].shown if handlers and handlers[0].shown else caught
    swallows = _keyword(facts.statement(caught), bool(handlers))
    odd, reference = wording.ranks(divergence.odd), wording.ranks(divergence.reference)
    return diagnosis(
        SWALLOWED_EXCEPTION,
        facts.waiting,
        confidence=confidence,
        blame=divergence.blame(confidence),
        culprits=divergence.culprits,
        summary=(
            f"{odd} {_what(divergence, skipped)} {wording.step(skipped)}; only the `{swallows}` at "
            f"{wording.place(caught)} leads there"
        ),
        why=(
            f"{odd.capitalize()} issued fewer {_left_out(skipped)} than {reference}, so all later operations meet the "
            f"wrong ones: {reference} {wording.now(facts, divergence.reference)}, {odd} "
            f"{wording.now(facts, divergence.odd)}."
        ),
        fix=(
            "Do not catch it on one rank: let it end the job, or agree on the retry with an all_reduce outside the "
            f"`{'with' if swallows == 'with' else 'try'}`."
        ),
        locations=(
            facts.location(divergence.culprits, shown),
            *facts.locations_of((*divergence.reference, *divergence.odd)),
        ),
        evidence=(
            wording.parted(divergence.odd_next, skipped),
            *decisions.parted_by(facts, divergence),
            "no condition leads past it",
        ),
    )


def _keyword(statement: str, known: bool) -> str:
    """What ends the exception: a context manager may do so, too."""
    return "with" if known and statement.removeprefix("async ").startswith("with ") else "except"


def _what(divergence: Divergence, skipped: HistoryStep) -> str:
    if skipped.kind is EventKind.CALL:
        return "continued without"
    return "skipped a batch without" if divergence.pattern is Pattern.SKIPPED else "left the loop without"


def _left_out(skipped: HistoryStep) -> str:
    return f"calls of {skipped.op}" if skipped.kind is EventKind.CALL else "gradient all-reduces"
