"""All diagnosis rules, in the order of their codes. A rule that is not here does not exist."""

from __future__ import annotations

from types import ModuleType

from ddpdoctor.diagnose.rule import RegisteredRule
from ddpdoctor.diagnose.rules import (
    collective_order_mismatch,
    group_order_cycle,
    rank_conditional_collective,
    rank_died,
    rank_finished_early,
    skipped_batch,
    slow_host_work,
    stopped_process,
    undecided,
    uneven_inputs,
)


def _registered(module: ModuleType) -> RegisteredRule:
    return RegisteredRule(module.RULE, module.diagnose, module.__doc__ or "")


RULES: tuple[RegisteredRule, ...] = tuple(
    _registered(module)
    for module in (
        uneven_inputs,
        rank_conditional_collective,
        skipped_batch,
        collective_order_mismatch,
        group_order_cycle,
        slow_host_work,
        stopped_process,
        rank_died,
        rank_finished_early,
        undecided,
    )
)
#: What is left to say when no other rule is at least `likely`.
FALLBACK = RULES[-1]
