"""The cause that most often leads to where the ranks stand.

For a hang of which no rule knows how its ranks came there: their places still tell some causes from others, where what
a code says is so of what is seen (a receive of which the peer sends nothing, a part of a sharded model that runs on
some ranks only). That cause is named, as `possible`. The first row that fits is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ddpdoctor.diagnose import codes
from ddpdoctor.diagnose.blocked import interpreter_exit
from ddpdoctor.diagnose.codes import Rule
from ddpdoctor.diagnose.digest import frames, operations
from ddpdoctor.diagnose.digest.rank_state import Activity
from ddpdoctor.diagnose.divergence import decisions, sharded_modules
from ddpdoctor.diagnose.divergence.divergences import divergences
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.collectives import Kind
from ddpdoctor.model.diagnosis import Diagnosis, Outcome
from ddpdoctor.model.progress import Counters
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.report import Report
from ddpdoctor.model.stacks import Site
from ddpdoctor.model.torch_internals import Meaning, shows

#: ends the reasons of a diagnosis that only the ranks' places speak for
NAMED = "The code is named for where the ranks stand; nothing shows how they came there."


def with_likeliest(report: Report, facts: Facts) -> Report:
    """The report of a hang of which nothing decided the cause, with the cause that the ranks' places speak for."""
    first = next(iter(report.diagnoses), None)
    if first is None or first.code != codes.UNDECIDED.code or report.outcome is not Outcome.HANG:
        return report
    rule = _likeliest(facts, first)
    if rule is None or any(rule.code == other.code for other in report.diagnoses):
        return report
    why = f"{first.why} {NAMED}"
    named = replace(first, code=rule.code, name=rule.name, retry=rule.retry, why=why)
    return replace(report, diagnoses=(named, *report.diagnoses[1:]))


def is_likeliest(one: Diagnosis) -> bool:
    """Whether only the ranks' places speak for the cause: what else is known of the job may tell another."""
    return one.why.endswith(NAMED)


def _likeliest(facts: Facts, first: Diagnosis) -> Rule | None:
    """None where nobody is to blame, ranks were not seen, or the places tell nothing."""
    if not first.culprits or facts.evidence.unseen():
        return None
    if not first.culprits - facts.doing(Activity.STILL):
        return codes.TEARDOWN_HANG if all(_at_exit(facts, rank) for rank in first.culprits) else None
    if not all(facts.wait(rank) for rank in first.culprits):
        return None
    return of_sides(facts, first.culprits, RankSet.of(facts.states) - first.culprits)


def _at_exit(facts: Facts, rank: Rank) -> bool:
    return interpreter_exit.is_over(facts, rank) or interpreter_exit.is_leaving(facts, rank)


def of_sides(facts: Facts, odd: RankSet, others: RankSet) -> Rule | None:
    """Of two sides that wait for each other."""
    return next((rule for rule, holds in OF_SIDES if holds(facts, odd, others)), None)


def _caught(facts: Facts, odd: RankSet, _: RankSet) -> bool:
    """An exception that was caught may have led the odd ranks past what the others do: a condition in a loop is there
    for many reasons, a handler that goes on for this one."""
    found = next(iter(divergences(facts)), None)
    if found is None or found.culprits != odd:
        return False
    return decisions.perhaps_an_exception(found) or decisions.perhaps_caught_in_loop(facts, found) is not None


def _message(facts: Facts, odd: RankSet, others: RankSet) -> bool:
    """One side waits in a message of the other's."""
    for side, other in ((odd, others), (others, odd)):
        waits = [wait for rank in side if (wait := facts.wait(rank)) is not None]
        if any(wait.kind in (Kind.SEND, Kind.RECV) and set(wait.targets) & set(other) for wait in waits):
            return True
    return False


def _barriers(facts: Facts, odd: RankSet, others: RankSet) -> bool:
    """Each side waits in a barrier."""
    waits = [facts.wait(rank) for rank in odd | others]
    return all(wait is not None and operations.family(wait.op) == "barrier" for wait in waits)


def _one_gathers_state(facts: Facts, odd: RankSet, others: RankSet) -> bool:
    return _in_state(facts, odd) != _in_state(facts, others)


def _one_runs_shards(facts: Facts, odd: RankSet, others: RankSet) -> bool:
    return _in_shards(facts, odd) != _in_shards(facts, others)


def _smaller_graph(facts: Facts, odd: RankSet, others: RankSet) -> bool:
    """One side waits in a backward that the other has left, as many as there were."""
    return any(
        _counted(facts, side, other, lambda its, ours: its.backward_left >= ours.backward_entered)
        for side, other in ((odd, others), (others, odd))
        if _in_backward(facts, side) and not _in_backward(facts, other)
    )


def _skipped(facts: Facts, odd: RankSet, others: RankSet) -> bool:
    """The odd ranks have taken as many batches from every loader, and gone back over fewer."""
    return _counted(
        facts, others, odd, lambda its, ours: _as_many(its, ours) and its.backward_entered < ours.backward_entered
    )


def _as_many(its: Counters, ours: Counters) -> bool:
    """Whether equally many batches came from equally many iterators of every loader, and there are loaders."""
    came, took = ({one.site: (one.delivered, one.made) for one in each.loaders} for each in (its, ours))
    return bool(came) and came == took


def _ended(facts: Facts, odd: RankSet, others: RankSet) -> bool:
    """The odd ranks' data ended at a loader that has given the others more."""
    return _counted(facts, others, odd, _out_of_data)


def _out_of_data(its: Counters, ours: Counters) -> bool:
    more = {loader.site: loader for loader in ours.loaders}
    return any(
        loader.site in more
        and loader.delivered < more[loader.site].delivered
        and loader.stops > more[loader.site].stops
        for loader in its.loaders
    )


def _counted(facts: Facts, ours: RankSet, theirs: RankSet, holds: Callable[[Counters, Counters], bool]) -> bool:
    """Whether it holds of the counters of all `theirs` beside all of `ours` that are known."""
    own = [counters for rank in ours if (counters := facts.counters(rank)) is not None]
    others = [facts.counters(rank) for rank in theirs]
    return bool(own) and all(other is not None and all(holds(other, one) for one in own) for other in others)


def _in_backward(facts: Facts, ranks: RankSet) -> bool:
    return any(shows(frame.file, frame.function, Meaning.RUNS_BACKWARD) for frame in _frames(facts, ranks))


def _in_state(facts: Facts, ranks: RankSet) -> bool:
    names = sharded_modules.STATE_FUNCTIONS
    return any(frame.plain_function in names and facts.is_library(frame.file) for frame in _frames(facts, ranks))


def _in_shards(facts: Facts, ranks: RankSet) -> bool:
    """Whether they run a module whose parameters are gathered."""
    found = _frames(facts, ranks)
    sharded = any(sharded_modules.is_sharding(frame.file) for frame in found)
    return sharded and any(frame.plain_function in ("forward", "_call_impl") for frame in found)


def _frames(facts: Facts, ranks: RankSet) -> tuple[Site, ...]:
    seen = [facts.evidence.rank(rank) for rank in ranks]
    mains = [main for rank in seen if rank is not None and (main := frames.main_thread(rank)) is not None]
    return tuple(frame for main in mains for frame in main.frames)


OF_SIDES: tuple[tuple[Rule, Callable[[Facts, RankSet, RankSet], bool]], ...] = (
    (codes.SWALLOWED_EXCEPTION, _caught),
    (codes.P2P_DEADLOCK, _message),
    (codes.SHARDED_STATE_ON_ONE_RANK, _one_gathers_state),
    (codes.CONDITIONAL_SHARDED_MODULE, _one_runs_shards),
    (codes.BARRIER_OFF_BY_ONE, _barriers),
    (codes.DATA_DEPENDENT_GRAPH, _smaller_graph),
    (codes.SKIPPED_BATCH, _skipped),
    (codes.UNEVEN_INPUTS, _ended),
)
