"""What the program's conditions depend on, asked of lint's interpreter along the call paths in the stacks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ddpdoctor.diagnose.facts import Facts, kept
from ddpdoctor.model.dependence import Condition, Dependence, DependsOn
from ddpdoctor.model.evidence import Gap, Source
from ddpdoctor.model.ranks import RankSet
from ddpdoctor.model.stacks import Site
from ddpdoctor.program.enclosing import Span

if TYPE_CHECKING:
    from ddpdoctor.lint.dependence import Conditions

_KEYWORD = re.compile(r"^(if|elif|while|assert|match) ")


@dataclass(frozen=True, slots=True)
class RankCondition:
    """A condition on the rank, and the line that is reached only under it."""

    place: Site
    span: Span
    #: the condition's expression, without `if`
    test: str
    dependence: Dependence


@kept
def _program(facts: Facts) -> Conditions:
    # imported late: needed only during a look, and must not slow down the start
    from ddpdoctor.lint.dependence import Conditions

    return Conditions(facts.program)


def depends_on(facts: Facts, site: Site, callers: Sequence[Site] = ()) -> Dependence | None:
    """What the condition or loop that begins on the line depends on; None if that is not known."""
    return _asked(facts, site, tuple(callers))


def decided_alike(facts: Facts, site: Site) -> bool:
    """Whether the condition that begins on the line is equal on all ranks; for a loop, its number of iterations."""
    dependence = depends_on(facts, site)
    return dependence is not None and dependence.on is DependsOn.UNIFORM


@kept
def _asked(facts: Facts, site: Site, callers: tuple[Site, ...]) -> Dependence | None:
    return _program(facts).of(site.file, site.line, _places(facts, callers))


@kept
def _around(facts: Facts, site: Site, callers: tuple[Site, ...]) -> tuple[Condition, ...]:
    return _program(facts).around(site.file, site.line, _places(facts, callers))


def rank_condition(
    facts: Facts, site: Site, callers: Sequence[Site] = (), odd: RankSet | None = None, reference: RankSet | None = None
) -> RankCondition | None:
    """The innermost condition on the rank, in the line's function, that lets only some ranks reach the line.

    If it is known on which ranks it holds, that must agree with who reached the line (`odd`) and who did not.
    """
    return None if facts.is_library(site.file) else wrapper_condition(facts, site, callers, odd, reference)


def wrapper_condition(
    facts: Facts, site: Site, callers: Sequence[Site] = (), odd: RankSet | None = None, reference: RankSet | None = None
) -> RankCondition | None:
    """The same in a library's function too, such as the wrapper that a decorator made of the job's function."""
    for condition in _around(facts, site, tuple(callers)):
        dependence = condition.dependence
        if dependence.on is DependsOn.RANK and _fits(facts, condition, odd, reference):
            text = facts.program.line_text(condition.file, condition.line) or condition.text
            return RankCondition(site, Span(condition.line, condition.end_line, text), condition.text, dependence)
    return None


def lets_in_the_first_alone(facts: Facts, site: Site, callers: Sequence[Site] = ()) -> bool:
    """Whether the innermost condition on the rank in the line's function lets rank 0 reach the line, and no other."""
    for condition in _around(facts, site, tuple(callers)):
        if condition.dependence.on is DependsOn.RANK:
            let_in = tuple(one is condition.side for one in condition.dependence.ranks)
            return let_in == (True, False, False, False) and not condition.dependence.local
    return False


def own_conditions(
    facts: Facts, site: Site, callers: Sequence[Site] = (), *, unknown: bool = False
) -> tuple[Condition, ...]:
    """The conditions on a rank's own data, clock, random numbers, files or signals under which the line runs, innermost
    first; if `unknown`, those too of which the source does not tell what they depend on.
    """
    around = _around(facts, site, tuple(callers)) if not facts.is_library(site.file) else ()
    wanted = _OWN | {DependsOn.UNKNOWN} if unknown else _OWN
    return tuple(condition for condition in around if condition.dependence.on in wanted)


def conditions_around(facts: Facts, site: Site) -> tuple[Condition, ...]:
    """All conditions under which a line of the job's own code runs, innermost first."""
    return () if facts.is_library(site.file) else _around(facts, site, ())


#: what each rank has for itself and the other ranks cannot know
_OWN = frozenset({DependsOn.SIGNAL, DependsOn.CLOCK, DependsOn.RANDOM, DependsOn.FILES, DependsOn.RANK_DATA})


def condition_at(facts: Facts, site: Site, side: bool, odd: RankSet, reference: RankSet) -> RankCondition | None:
    """The condition on the rank that begins on the line; `odd` took its branch `side`, `reference` did not."""
    dependence, text = depends_on(facts, site), facts.line(site)
    if dependence is None or dependence.on is not DependsOn.RANK:
        return None
    if not _fits(facts, Condition(site.file, site.line, site.line, text, side, dependence), odd, reference):
        return None
    return RankCondition(site, Span(site.line, site.line, text), test_of(text), dependence)


def test_of(head: str) -> str:
    """`is_main()` of `if is_main():`"""
    return _KEYWORD.sub("", head).rstrip(":")


def unshared() -> frozenset[str]:
    """Names of the context managers, of torch and of frameworks, in which gradients are not synchronised."""
    from ddpdoctor.lint.dependence import UNSHARED

    return UNSHARED


def synchronising() -> frozenset[str]:
    """Names of the methods of frameworks that say whether the next backward synchronises."""
    from ddpdoctor.lint.dependence import SYNCHRONISING

    return SYNCHRONISING


def gaps(facts: Facts) -> tuple[Gap, ...]:
    """Gaps for questions that exceeded the bound on simulating the program."""
    if not _program(facts).exhausted:
        return ()
    reason = "the program is too large for all its conditions to be looked into: what some depend on is not known"
    return (Gap(Source.CODE, None, reason),)


def _places(facts: Facts, callers: Iterable[Site]) -> tuple[tuple[str, int], ...]:
    """The callers that stacks show, up to the file that ran as a script; else where the program starts."""
    found: list[tuple[str, int]] = []
    for site in callers:
        found.append((site.file, site.line))
        if _at_top_level(site):
            break
    return tuple(found) or _start(facts)


@kept
def _start(facts: Facts) -> tuple[tuple[str, int], ...]:
    """The line at a script's top level from which a rank reached its position."""
    for seen in facts.evidence.ranks:
        for site in facts.stack(seen.rank):
            if _at_top_level(site):
                return ((site.file, site.line),)
    return ()


def _at_top_level(site: Site) -> bool:
    return site.function.rpartition(".")[2] == "<module>"


def _fits(facts: Facts, condition: Condition, odd: RankSet | None, reference: RankSet | None) -> bool:
    """Whether the ranks that took the branch are those for which the condition holds, and the others are not."""
    holds = condition.dependence.ranks
    if odd is None or reference is None or condition.dependence.local or not holds or None in holds:
        return True
    let_in = _let_in(tuple(one is condition.side for one in holds), facts.evidence.world_size)
    return not let_in or any(set(odd) <= ranks and not set(reference) & ranks for ranks in let_in)


#: tests of a rank that programs make, for a job of a given size
_ASKED: tuple[Callable[[int, int], bool], ...] = (
    lambda rank, _: rank == 0,
    lambda rank, _: rank == 1,
    lambda rank, _: rank == 2,
    lambda rank, _: rank == 3,
    lambda rank, size: rank == size - 1,
    lambda rank, _: rank % 2 == 0,
    lambda rank, _: rank < 2,
    lambda rank, size: rank < size // 2,
)


def _let_in(holds: tuple[bool, ...], size: int) -> tuple[set[int], ...]:
    """The ranks, in a job of this size, that a condition with these results on a few ranks may mean; empty if
    ambiguous.

    One that holds on rank 3 of four may mean rank 3 or the last rank.
    """
    found = []
    for asked in _ASKED:
        for side in (True, False):
            if tuple(asked(rank, len(holds)) is side for rank in range(len(holds))) == holds:
                found.append({rank for rank in range(size) if asked(rank, size) is side})
    return tuple(found)


def sentence(test: str, dependence: Dependence | None) -> str:
    """What a condition depends on, in words; "" if that is not known, or cannot make ranks diverge."""
    if dependence is None or dependence.on in (DependsOn.UNKNOWN, DependsOn.UNIFORM):
        return ""
    if dependence.on is DependsOn.SIGNAL:
        return f"`{test}` tests `{dependence.flag}`, which {dependence.handler} sets when a signal arrives"
    words = _HOLDS.get(dependence.ranks, "")
    if words and dependence.on is DependsOn.RANK:
        return f"`{test}` is true on {words.replace('rank', 'local rank') if dependence.local else words}"
    return f"`{test}` depends on {dependence.on.value}"


#: the same in words
_HOLDS: dict[tuple[bool | None, ...], str] = {
    (True, False, False, False): "rank 0 only",
    (False, True, True, True): "every rank but 0",
    (False, False, False, True): "the last rank only",
}
