"""Every lint rule, sorted by code. A rule that is not listed here does not run.

The rules themselves are imported where a file is analysed: what only chooses among them, or tells what the cache knows,
does without.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from ddpdoctor.lint.own_rules import INEFFECTIVE, UNREADABLE, UNUSED
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Finding
from ddpdoctor.model.record import record

if TYPE_CHECKING:
    from ddpdoctor.lint.facts.module_facts import ModuleFacts

#: rules of the engine itself
OWN = (INEFFECTIVE, UNUSED, UNREADABLE)

#: the name of each rule by its code; its module in `rules/` is called the same
RULES = {
    "DD101": "missing-set-epoch",
    "DD102": "set-epoch-misuse",
    "DD103": "missing-distributed-sampler",
    "DD104": "sampler-shuffle-conflict",
    "DD105": "uneven-shards",
    "DD106": "iterable-no-rank-split",
    "DD107": "eval-padding-skews-metric",
    "DD108": "unsharded-custom-sampler",
    "DD109": "wrong-sampler-shuffle",
    "DD110": "ragged-last-batch",
    "DD111": "collective-under-rank-branch",
    "DD112": "rank-exit-before-collective",
    "DD113": "rank-local-loop-exit",
    "DD114": "collective-under-rank-local-condition",
    "DD115": "mismatched-collective-sequence",
    "DD116": "collective-in-exception-path",
    "DD117": "new-group-not-on-all-ranks",
    "DD118": "collective-result-lost",
    "DD119": "collective-argument-error",
    "DD120": "async-not-waited",
    "DD121": "unmatched-send-recv",
    "DD122": "collective-in-thread",
    "DD123": "collective-without-initialised-guard",
    "DD124": "rank0-side-effect-without-barrier",
    "DD125": "rank-divergent-shared-value",
    "DD126": "polling-instead-of-barrier",
    "DD127": "unknown-distributed-api",
    "DD128": "group-or-collective-in-hot-path",
    "DD129": "rank-test-not-called",
    "DD131": "identical-rng-all-ranks",
    "DD132": "rank-dependent-split",
    "DD133": "shard-order-not-synced",
    "DD134": "worker-seed-missing",
    "DD135": "rank-seed-before-unsynced-init",
    "DD136": "unseeded-ranks",
    "DD137": "state-set-in-prepare-data",
    "DD138": "schedule-of-one-share",
    "DD139": "engine-step-under-own-count",
    "DD140": "ranks-never-meet",
    "DD141": "missing-set-device",
    "DD142": "set-device-after-init-or-collective",
    "DD143": "global-rank-as-device-index",
    "DD144": "local-rank-as-global-rank",
    "DD145": "deprecated-launcher",
    "DD146": "local-rank-argument",
    "DD147": "barrier-device",
    "DD148": "hard-coded-rendezvous",
    "DD149": "process-group-not-destroyed",
    "DD151": "rank0-long-work-vs-timeout",
    "DD152": "random-state-of-one-rank",
    "DD153": "sharded-twice",
    "DD154": "data-split-within-model",
    "DD155": "contrastive-targets-without-offset",
    "DD156": "salted-hash",
    "DD157": "gather-of-unequal-shapes",
    "DD158": "gradient-lost-in-gather",
    "DD159": "gathered-out-of-order",
    "DD160": "second-backward-not-averaged",
    "DD161": "ddp-before-device-move",
    "DD162": "late-conversion",
    "DD163": "forward-bypasses-ddp",
    "DD164": "rank0-forward-through-ddp",
    "DD165": "syncbn-after-ddp",
    "DD166": "attribute-through-ddp",
    "DD167": "no-sync-around-backward-only",
    "DD168": "sharded-gradients-clipped-locally",
    "DD169": "update-on-some-ranks",
    "DD170": "step-on-local-gradients",
    "DD171": "unguarded-save",
    "DD172": "module-prefix-saved",
    "DD173": "load-without-map-location",
    "DD174": "local-rank-guards-global-work",
    "DD175": "sharded-save-on-one-rank",
    "DD176": "load-not-synced",
    "DD177": "bare-state-into-wrapper",
    "DD178": "optimizer-before-sharding",
    "DD179": "gathered-parameters-write-lost",
    "DD181": "unreduced-metric-decision",
    "DD182": "statistics-of-own-batch",
    "DD183": "reduceop-avg-portability",
    "DD184": "loss-summed-over-ranks",
    "DD185": "hook-on-some-ranks",
    "DD186": "metric-of-one-share",
    "DD187": "sharded-part-skipped",
    "DD188": "reentrant-checkpoint-under-ddp",
    "DD190": "rate-scaled-again",
    "DD191": "deprecated-distributed-api",
    "DD192": "node-local-file-of-one-rank",
}
#: rules that tell nothing but hints
HINTS = frozenset({
    "DD107", "DD108", "DD109", "DD123", "DD134", "DD141", "DD143", "DD145", "DD147", "DD148", "DD149", "DD151",
    "DD172", "DD174", "DD182", "DD183", "DD191",
})  # fmt: skip


@record(frozen=True, slots=True)
class Registered:
    """A rule with its check and its page."""

    rule: LintRule
    check: Callable[[ModuleFacts], Iterator[Finding | None]]
    page: str


@cache
def registered() -> tuple[Registered, ...]:
    """All rules with their checks and pages."""
    found: list[Registered] = []
    for name in RULES.values():
        module = importlib.import_module(f"ddpdoctor.lint.rules.{name.replace('-', '_')}")
        found.append(Registered(module.RULE, module.check, module.__doc__ or ""))
    return tuple(found)


@cache
def pages() -> tuple[tuple[LintRule, str], ...]:
    """Every rule with its documentation, sorted by code, including the engine's own."""
    from ddpdoctor.lint import own_pages

    own = ((INEFFECTIVE, own_pages.INEFFECTIVE), (UNUSED, own_pages.UNUSED), (UNREADABLE, own_pages.UNREADABLE))
    return tuple(sorted((*((r.rule, r.page) for r in registered()), *own), key=lambda item: item[0].code))


@cache
def names() -> dict[str, str]:
    """Code to name, including the engine's own findings."""
    return {**RULES, **{rule.code: rule.name for rule in OWN}}


@cache
def defaults() -> frozenset[str]:
    """Codes that run by default: all but hints."""
    return frozenset(names()) - HINTS
