"""Names in torch.distributed other than the functions of model/c10d.py: modules, removed names, common typos."""

from __future__ import annotations

#: lower-case names that are not in the table: modules, functions whose arguments are not checked, and functions that
#: only NVIDIA's own builds of torch have (ring_exchange)
OTHERS = frozenset({
    "algorithms", "argparse_util", "autograd", "benchmarks", "c10d_logger", "checkpoint", "collective_utils",
    "config", "constants", "debug", "default_pg_timeout", "device_mesh", "distributed_c10d", "elastic", "examples",
    "flight_recorder", "fsdp", "get_debug_level", "group", "launch", "launcher", "log", "logging",
    "logging_handlers", "nn", "optim", "pipeline", "pipelining", "record_comm", "reduce_op",
    "register_rendezvous_handler", "remote_device", "rendezvous", "ring_exchange", "rpc", "run", "set_debug_level",
    "set_debug_level_from_env", "shrink_group", "supports_complex", "sys", "tensor", "timedelta", "torch",
    "traceback", "types", "typing", "utils", "warnings",
})  # fmt: skip
#: names that vendors' builds of torch add
VENDORS = frozenset({"is_hccl_available", "is_cncl_available", "is_mccl_available", "is_eccl_available"})
REDUCTIONS = frozenset({
    "SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR", "PREMUL_SUM", "RedOpType", "name", "value",
    "names", "values", "UNUSED",
})  # fmt: skip

#: removed names, with the first version that certainly lacks them
REMOVED: dict[str, tuple[int, int]] = {
    f"{name}_multigpu": (2, 3) for name in ("all_reduce", "broadcast", "reduce", "all_gather", "reduce_scatter")
}

#: private methods that DistributedDataParallel had in torch 1, and that programs call to make ranks equal again
GONE_FROM_WRAPPER = frozenset({"_sync_params_and_buffers", "_sync_params"})

#: common typos and the intended name, with the same arguments
TYPOS = {
    "allreduce": "all_reduce", "allgather": "all_gather", "reducescatter": "reduce_scatter", "alltoall": "all_to_all",
    "is_initialised": "is_initialized", "is_init": "is_initialized", "initialized": "is_initialized",
    "get_worldsize": "get_world_size", "init_processgroup": "init_process_group",
    "destroy_processgroup": "destroy_process_group", "all_gather_objects": "all_gather_object",
    "init_process_groups": "init_process_group", "destroy_process_groups": "destroy_process_group",
}  # fmt: skip
