"""Everything that rules may use, computed once from the evidence."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Concatenate, ParamSpec, TypeVar, cast

from ddpdoctor.diagnose.digest import frames, wait_graph
from ddpdoctor.diagnose.digest.failure import Failure, find_failures, find_masked
from ddpdoctor.diagnose.digest.histories import History, read_history
from ddpdoctor.diagnose.digest.outcome import judge
from ddpdoctor.diagnose.digest.rank_state import Activity, Look, RankState, judge_rank
from ddpdoctor.diagnose.digest.sides import HistorySplit, divide
from ddpdoctor.diagnose.digest.wait_graph import WaitGraph
from ddpdoctor.diagnose.digest.waits import Wait
from ddpdoctor.model.diagnosis import Location, Outcome
from ddpdoctor.model.evidence import Evidence, RankEvidence
from ddpdoctor.model.progress import Counters
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.stacks import Site
from ddpdoctor.program.program import Program

_FREE = frozenset({Activity.WORKING, Activity.STOPPED, Activity.STILL, Activity.EXITED, Activity.UNKNOWN})


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """The digest of one look at a job. Rules read this and the evidence, and nothing else. Compared by identity."""

    evidence: Evidence
    #: the job's source, parsed
    program: Program
    #: installed packages that the job runs rather than uses
    own: frozenset[str]
    graph: WaitGraph
    states: Mapping[Rank, RankState]
    #: live ranks in blocking waits
    waiting: RankSet
    #: ranks that others wait for and that do not wait themselves
    blockers: RankSet
    histories: Mapping[Rank, History]
    splits: tuple[HistorySplit, ...]
    failures: tuple[Failure, ...]
    #: exceptions of ranks that are still alive, earliest first
    masked: tuple[Failure, ...]
    outcome: Outcome
    #: results of functions decorated with `kept`; they are freed with these facts
    answers: dict[Hashable, object] = field(default_factory=dict, repr=False)

    def state(self, rank: Rank) -> RankState:
        return self.states[rank]

    def doing(self, *activities: Activity) -> RankSet:
        return RankSet.of(rank for rank, state in self.states.items() if state.activity in activities)

    def wait(self, rank: Rank) -> Wait | None:
        return self.graph.main_wait(rank)

    def rank(self, rank: Rank) -> RankEvidence:
        found = self.evidence.rank(rank)
        if found is None:
            raise KeyError(rank)
        return found

    def counters(self, rank: Rank) -> Counters | None:
        seen = self.evidence.rank(rank)
        return seen.page.counters if seen and seen.page else None

    def line(self, site: Site) -> str:
        return self.program.line_text(site.file, site.line)

    def statement(self, site: Site) -> str:
        """The line as it is quoted in a sentence: without its comment and the colon at its end."""
        return self.program.statement_text(site.file, site.line)

    def stack(self, rank: Rank) -> tuple[Site, ...]:
        """User frames of the rank's main thread, innermost first."""
        seen = self.evidence.rank(rank)
        main = frames.main_thread(seen) if seen else None
        return frames.user_frames(main.frames) if main else ()

    def is_library(self, file: str) -> bool:
        """Whether the file is code that the job uses rather than runs."""
        return frames.is_library(file, self.own)

    def location(self, ranks: Iterable[Rank], site: Site) -> Location:
        return Location(RankSet.of(ranks), site.file, site.line, site.function, self.line(site))

    def locations_of(self, ranks: Iterable[Rank]) -> tuple[Location, ...]:
        """Where ranks are, one location for each place, most ranks first."""
        by_site: dict[Site, list[Rank]] = {}
        for rank in ranks:
            site = self.states[rank].site if rank in self.states else None
            if site:
                by_site.setdefault(site, []).append(rank)
        ordered = sorted(by_site.items(), key=lambda item: (-len(item[1]), item[1]))
        return tuple(self.location(members, site) for site, members in ordered)


P = ParamSpec("P")
T = TypeVar("T")


def kept(function: Callable[Concatenate[Facts, P], T]) -> Callable[Concatenate[Facts, P], T]:
    """Compute once for the same facts and positional arguments, and keep the answer as long as the facts live.

    `watch` looks for days: a cache at module level would keep the evidence of past looks alive.
    """

    @functools.wraps(function)
    def once(facts: Facts, /, *args: P.args, **kwargs: P.kwargs) -> T:
        key = (function, args, tuple(kwargs.items()))
        if key not in facts.answers:
            facts.answers[key] = function(facts, *args, **kwargs)
        return cast("T", facts.answers[key])

    return once


def digest(evidence: Evidence) -> Facts:
    """Compute the facts."""
    graph = wait_graph.build(evidence)
    ranks = [Rank(number) for number in range(evidence.world_size)]
    ranks += [seen.rank for seen in evidence.ranks if seen.rank not in ranks]
    own = frames.own_packages(evidence)
    program = Program(evidence.code)
    look = Look(evidence.timing.collected, program, own, evidence.reported_hanging)
    states = {rank: judge_rank(evidence.rank(rank), graph.main_wait(rank), look) for rank in ranks}
    waiting = RankSet.of(rank for rank, state in states.items() if state.activity is Activity.WAITING)
    blockers = _blockers(graph, states, waiting)
    failures = find_failures(evidence)
    histories = {seen.rank: history for seen in evidence.ranks if (history := read_history(seen))}
    return Facts(
        evidence,
        program,
        own,
        graph,
        states,
        waiting,
        blockers,
        histories,
        divide(histories),
        failures,
        find_masked(evidence),
        judge(evidence, graph, states, blockers, failures),
    )


def _blockers(graph: WaitGraph, states: Mapping[Rank, RankState], waiting: RankSet) -> RankSet:
    """Ranks that are waited for and do not wait. If waits do not say for whom, all ranks that do not wait.

    If no rank waits: ranks that are blocked for an unknown reason.
    """
    if not waiting:
        return RankSet.of(rank for rank, state in states.items() if state.activity is Activity.STILL)
    targets = graph.targets(waiting)
    vague = any(not wait.targets for rank in waiting for wait in graph.waits[rank])
    return RankSet.of(rank for rank, state in states.items() if state.activity in _FREE and (vague or rank in targets))
