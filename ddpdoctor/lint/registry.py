"""Every lint rule, sorted by code. A rule that is not listed here does not run."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from functools import cache

from ddpdoctor.lint import settings
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.suppress import UNUSED
from ddpdoctor.lint.taint_comments import INEFFECTIVE
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.model.record import record

#: a file that cannot be read as Python, of which nothing is known; always on
UNREADABLE = LintRule(
    settings.UNREADABLE,
    "unreadable-source",
    Severity.WARNING,
    advice="mend what the message names, or exclude the file",
)

#: rules of the engine itself
OWN = (INEFFECTIVE, UNUSED, UNREADABLE)

#: module names in `rules/`, in the order of their codes
RULES = (
    "missing_set_epoch",
    "set_epoch_misuse",
    "missing_distributed_sampler",
    "sampler_shuffle_conflict",
    "uneven_shards",
    "iterable_no_rank_split",
    "eval_padding_skews_metric",
    "unsharded_custom_sampler",
    "wrong_sampler_shuffle",
    "ragged_last_batch",
    "collective_under_rank_branch",
    "rank_exit_before_collective",
    "rank_local_loop_exit",
    "collective_under_rank_local_condition",
    "mismatched_collective_sequence",
    "collective_in_exception_path",
    "new_group_not_on_all_ranks",
    "collective_result_lost",
    "collective_argument_error",
    "async_not_waited",
    "unmatched_send_recv",
    "collective_in_thread",
    "collective_without_initialised_guard",
    "rank0_side_effect_without_barrier",
    "rank_divergent_shared_value",
    "polling_instead_of_barrier",
    "unknown_distributed_api",
    "group_or_collective_in_hot_path",
    "rank_test_not_called",
    "identical_rng_all_ranks",
    "rank_dependent_split",
    "shard_order_not_synced",
    "worker_seed_missing",
    "rank_seed_before_unsynced_init",
    "unseeded_ranks",
    "state_set_in_prepare_data",
    "schedule_of_one_share",
    "engine_step_under_own_count",
    "ranks_never_meet",
    "missing_set_device",
    "set_device_after_init_or_collective",
    "global_rank_as_device_index",
    "local_rank_as_global_rank",
    "deprecated_launcher",
    "local_rank_argument",
    "barrier_device",
    "hard_coded_rendezvous",
    "process_group_not_destroyed",
    "rank0_long_work_vs_timeout",
    "random_state_of_one_rank",
    "sharded_twice",
    "data_split_within_model",
    "contrastive_targets_without_offset",
    "salted_hash",
    "gather_of_unequal_shapes",
    "gradient_lost_in_gather",
    "gathered_out_of_order",
    "second_backward_not_averaged",
    "ddp_before_device_move",
    "late_conversion",
    "forward_bypasses_ddp",
    "rank0_forward_through_ddp",
    "syncbn_after_ddp",
    "attribute_through_ddp",
    "no_sync_around_backward_only",
    "sharded_gradients_clipped_locally",
    "update_on_some_ranks",
    "step_on_local_gradients",
    "unguarded_save",
    "module_prefix_saved",
    "load_without_map_location",
    "local_rank_guards_global_work",
    "sharded_save_on_one_rank",
    "load_not_synced",
    "bare_state_into_wrapper",
    "optimizer_before_sharding",
    "gathered_parameters_write_lost",
    "unreduced_metric_decision",
    "statistics_of_own_batch",
    "reduceop_avg_portability",
    "loss_summed_over_ranks",
    "hook_on_some_ranks",
    "metric_of_one_share",
    "sharded_part_skipped",
    "reentrant_checkpoint_under_ddp",
    "deprecated_distributed_api",
    "node_local_file_of_one_rank",
)  # fmt: skip


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
    for name in RULES:
        module = importlib.import_module(f"ddpdoctor.lint.rules.{name}")
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
    return {rule.code: rule.name for rule in (*(r.rule for r in registered()), *OWN)}


@cache
def defaults() -> frozenset[str]:
    """Codes that run by default: all but hints."""
    on = {r.rule.code for r in registered() if r.rule.severity is not Severity.HINT}
    return frozenset(on | {rule.code for rule in OWN})
