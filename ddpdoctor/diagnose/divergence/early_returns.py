"""Ranks that ended early, without an error: whom they left behind, and where they left the loop of their last step."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from dataclasses import replace

from ddpdoctor.diagnose import conditions
from ddpdoctor.diagnose.digest import file_polling, histories
from ddpdoctor.diagnose.digest.histories import HistoryDiff
from ddpdoctor.diagnose.digest.sides import Comparison
from ddpdoctor.diagnose.divergence import control_flow_diff, empty_checks
from ddpdoctor.diagnose.divergence.branch_points import BranchKind, BranchPoint
from ddpdoctor.diagnose.divergence.divergences import Divergence
from ddpdoctor.diagnose.divergence.patterns import Pattern
from ddpdoctor.diagnose.facts import Facts, kept
from ddpdoctor.model.dependence import DependsOn
from ddpdoctor.model.diagnosis import Confidence
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.stacks import Site
from ddpdoctor.program import enclosing
from ddpdoctor.program.nodes import walk

#: `if not rows`: of a name alone it is not known whether it is a collection
_EMPTY = re.compile(r"if not [\w.]+$")
#: pairs of ranks whose histories are compared
_MOST_PAIRS = 16


@kept
def left_behind(facts: Facts) -> tuple[RankSet, RankSet] | None:
    """Ranks whose program or training function has ended without an error, and those that still need them; None if
    there are none, or others are to blame."""
    gone = RankSet.of(
        rank.rank
        for rank in facts.evidence.ranks
        if (rank.exit is not None and rank.exit.status == 0) or facts.state(rank.rank).returned
    )
    own_failure = any(not failure.victim for failure in facts.failures)
    lost = RankSet.of(failure.rank for failure in facts.failures if failure.victim)
    asking = RankSet.of(rank for rank in facts.blockers if _asks_again(facts, rank))
    others = facts.waiting | lost | asking
    held = facts.blockers - asking
    if not gone or not others or own_failure:
        return None
    culprits = RankSet.of(rank for rank in gone if rank in facts.graph.targets(facts.waiting)) or gone
    return (culprits, others) if lost or held == culprits or not held else None


def _asks_again(facts: Facts, rank: Rank) -> bool:
    """Whether the rank sleeps between two looks at something that another was to bring."""
    state = facts.state(rank)
    return state.naps and state.site is not None and file_polling.asks_again(facts.program, state.site)


@kept
def own_stop(facts: Facts) -> Divergence | None:
    """Ranks that have ended early because they decided to leave a loop in which the others go on; None if the source
    shows something else, or nothing. One that had nothing to do in a turn, and returned, has not decided that."""
    found = left_behind(facts)
    gone, others = found or (RankSet(), RankSet())
    # who only asks whether something has come is in no operation that it could be compared by
    meeting = RankSet.of(rank for rank in others if not _asks_again(facts, rank))
    compared = _compared(facts, gone, meeting) if not facts.splits else None
    points = control_flow_diff.to_the_end(facts, compared) if compared is not None else ()
    if compared is None or not points or not all(_is_decision(facts, point) for point in points):
        return None
    return Divergence(Pattern.LEFT_LOOP, compared, unique=True, cap=Confidence.LIKELY, branch_points=points)


def _compared(facts: Facts, gone: RankSet, others: RankSet) -> Comparison | None:
    """Where the history of one that has ended stops, and what one of the others did next."""
    for rank, other in itertools.islice(itertools.product(gone, others), _MOST_PAIRS):
        mine, theirs = facts.histories.get(rank), facts.histories.get(other)
        if mine is None or theirs is None:
            continue
        ours, their = histories.shared(mine, theirs)
        if ours and len(their) > len(ours) and their[: len(ours)] == ours:
            diff = HistoryDiff(ours[-1], (), their[len(ours) :], rejoined=False, behind=True)
            return Comparison(gone, others, diff, (rank, other))
    return None


def _is_decision(facts: Facts, point: BranchPoint) -> bool:
    if point.kind is not BranchKind.CONDITION or point.jump is None:
        return False
    around = conditions.conditions_around(facts, point.jump)
    if any(one.dependence.on is DependsOn.RANK for one in around):
        return False  # as it is written, and not by what the rank has found
    program, site = facts.program, point.site
    return not (empty_checks.asks_empty(program, site) or empty_checks.asks_none(program, site)) and not (
        point.jump_text.startswith("return") and _EMPTY.match(point.text)
    )


def early_return(facts: Facts, rank: Rank) -> Site | None:
    """The only `return` in a loop around the rank's last step; None if there is none, or several."""
    history = facts.histories.get(rank)
    path = history.steps[-1].path if history and history.steps else ()
    found = [site for frame in path if not facts.is_library(frame.file) for site in _returns(facts, frame)]
    return found[0] if len(found) == 1 else None


def left_loop(facts: Facts, rank: Rank, others: RankSet) -> Site | None:
    """The head of the loop around the rank's last step if one of the others is still in that loop; else None."""
    history = facts.histories.get(rank)
    path = history.steps[-1].path if history and history.steps else ()
    own = next((frame for frame in path if not facts.is_library(frame.file)), None)
    loop = enclosing.enclosing_loop(facts.program, own) if own else None
    if own is None or loop is None:
        return None
    inside = (frame for other in others for frame in facts.stack(other))
    here = any(frame.file == own.file and frame.line in loop for frame in inside)
    return replace(own, line=loop.first) if here else None


def _returns(facts: Facts, frame: Site) -> Iterator[Site]:
    """The `return` statements inside the outermost of the function's loops around the line, that something decided.

    One that simply follows the line ends every rank's turn: a launcher's child that has run its script.
    """
    loops = enclosing.enclosing_loops(facts.program, frame)
    function = enclosing.function_around(facts.program, frame)
    if not loops or function is None:
        return
    span = max(loops, key=lambda loop: loop.last - loop.first)
    for node in walk(function):
        if isinstance(node, ast.Return) and node.lineno in span and node.lineno != frame.line:
            site = replace(frame, line=node.lineno)
            if _decisions(facts, site) - _decisions(facts, frame):
                yield site


def _decisions(facts: Facts, site: Site) -> set[ast.stmt]:
    """The first statements of the blocks around the line that do not always run."""
    blocks = [block for node in enclosing.around(facts.program, site) for block in _blocks(node)]
    return {block[0] for block in blocks if block and block[0].lineno <= site.line <= (block[-1].end_lineno or 0)}


def _blocks(node: ast.AST) -> list[list[ast.stmt]]:
    if isinstance(node, ast.Match):
        return [case.body for case in node.cases]
    if isinstance(node, ast.If | ast.For | ast.While):
        return [node.body, node.orelse]
    return [node.body] if isinstance(node, ast.ExceptHandler) else []
