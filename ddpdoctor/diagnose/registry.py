"""All diagnosis rules, in the order of their codes. A rule that is not here does not exist."""

from __future__ import annotations

from types import ModuleType

from ddpdoctor.diagnose.rule import RegisteredRule
from ddpdoctor.diagnose.rules import (
    barrier_off_by_one,
    collective_order_mismatch,
    compile_skew,
    conditional_sharded_module,
    data_dependent_graph,
    data_loader_shutdown,
    data_worker_killed,
    data_worker_stuck,
    dtype_mismatch,
    exception_masked,
    fork_lock_in_worker,
    gil_held,
    group_creation_mismatch,
    group_order_cycle,
    interactive_prompt,
    join_misuse,
    local_stop_decision,
    lock_wait,
    metric_keys_differ,
    model_differs_at_ddp,
    network_wait,
    no_sync_mismatch,
    one_rank_forward_through_ddp,
    output_pipe_full,
    p2p_deadlock,
    rank_conditional_collective,
    rank_died,
    rank_finished_early,
    rank_missing_at_init,
    rendezvous_unreachable,
    shape_mismatch,
    sharded_state_on_one_rank,
    signal_on_some_ranks,
    skipped_batch,
    slow_checkpoint,
    slow_host_work,
    stopped_process,
    swallowed_exception,
    teardown_hang,
    transport_stall,
    undecided,
    uneven_inputs,
    uneven_microbatches,
    uninterruptible_io,
    wrong_device,
)


def _registered(module: ModuleType) -> RegisteredRule:
    return RegisteredRule(module.RULE, module.diagnose, module.__doc__ or "")


RULES: tuple[RegisteredRule, ...] = tuple(
    _registered(module)
    for module in (
        uneven_inputs,
        uneven_microbatches,
        rank_conditional_collective,
        sharded_state_on_one_rank,
        one_rank_forward_through_ddp,
        local_stop_decision,
        skipped_batch,
        swallowed_exception,
        data_dependent_graph,
        conditional_sharded_module,
        metric_keys_differ,
        barrier_off_by_one,
        collective_order_mismatch,
        shape_mismatch,
        dtype_mismatch,
        signal_on_some_ranks,
        no_sync_mismatch,
        p2p_deadlock,
        group_creation_mismatch,
        group_order_cycle,
        join_misuse,
        slow_host_work,
        slow_checkpoint,
        network_wait,
        data_worker_stuck,
        fork_lock_in_worker,
        data_worker_killed,
        data_loader_shutdown,
        lock_wait,
        output_pipe_full,
        compile_skew,
        interactive_prompt,
        gil_held,
        uninterruptible_io,
        stopped_process,
        rank_died,
        rank_finished_early,
        exception_masked,
        teardown_hang,
        rank_missing_at_init,
        rendezvous_unreachable,
        wrong_device,
        model_differs_at_ddp,
        transport_stall,
        undecided,
    )
)
#: What is left to say when no other rule is at least `likely`.
FALLBACK = RULES[-1]
