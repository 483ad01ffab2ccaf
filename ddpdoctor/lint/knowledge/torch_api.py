"""The public functions of torch.distributed in torch 2.13, and what is known of when names and keywords came.

Read from `inspect.signature` of torch 2.13. A version says from when on a name is surely there, or a keyword taken:
before it a call may fail, and where the version is not known for certain the earliest one that it can be is given.
"""

from __future__ import annotations

NEWEST = (2, 13)

#: function -> its parameters
FUNCTIONS: dict[str, frozenset[str]] = {
    name: frozenset(parameters.split())
    for name, parameters in {
        "all_gather": "tensor_list tensor group async_op",
        "all_gather_coalesced": "output_tensor_lists input_tensor_list group async_op",
        "all_gather_into_tensor": "output_tensor input_tensor group async_op",
        "all_gather_object": "object_list obj group",
        "all_gather_single": "output_tensor input_tensor group async_op",
        "all_reduce": "tensor op group async_op",
        "all_reduce_coalesced": "tensors op group async_op",
        "all_to_all": "output_tensor_list input_tensor_list group async_op",
        "all_to_all_single": "output input output_split_sizes input_split_sizes group async_op",
        "barrier": "group async_op device_ids timeout",
        "batch_isend_irecv": "p2p_op_list",
        "breakpoint": "rank skip timeout_s",
        "broadcast": "tensor src group async_op group_src",
        "broadcast_object_list": "object_list src group device group_src",
        "destroy_process_group": "group",
        "gather": "tensor gather_list dst group async_op group_dst",
        "gather_object": "obj object_gather_list dst group group_dst",
        "get_backend": "group",
        "get_backend_config": "group",
        "get_default_backend_for_device": "device",
        "get_global_rank": "group group_rank",
        "get_group_rank": "group global_rank",
        "get_node_local_rank": "fallback_rank",
        "get_pg_count": "",
        "get_process_group_ranks": "group",
        "get_rank": "group",
        "get_world_size": "group",
        "init_device_mesh": "device_type mesh_shape mesh_dim_names backend_override",
        "init_process_group": "backend init_method timeout world_size rank store group_name pg_options device_id",
        "irecv": "tensor src group tag group_src",
        "is_available": "",
        "is_backend_available": "backend",
        "is_gloo_available": "",
        "is_initialized": "",
        "is_mpi_available": "",
        "is_nccl_available": "",
        "is_torchelastic_launched": "",
        "is_ucc_available": "",
        "is_xccl_available": "",
        "isend": "tensor dst group tag group_dst",
        "monitored_barrier": "group timeout wait_all_ranks",
        "new_group": "ranks timeout backend pg_options use_local_synchronization group_desc device_id sort_ranks",
        "new_subgroups": "group_size group timeout backend pg_options group_desc",
        "new_subgroups_by_enumeration": "ranks_per_subgroup_list timeout backend pg_options group_desc",
        "recv": "tensor src group tag group_src",
        "recv_object_list": "object_list src group device group_src use_batch",
        "reduce": "tensor dst op group async_op group_dst",
        "reduce_scatter": "output input_list op group async_op",
        "reduce_scatter_single": "output input op group async_op",
        "reduce_scatter_tensor": "output input op group async_op",
        "scatter": "tensor scatter_list src group async_op group_src",
        "scatter_object_list": "scatter_object_output_list scatter_object_input_list src group group_src",
        "send": "tensor dst group tag group_dst",
        "send_object_list": "object_list dst group device group_dst use_batch",
        "split_group": "parent_pg split_ranks timeout pg_options group_desc backend",
    }.items()
}
#: lower-case names that are no function of the table: modules, functions whose arguments are not judged, and what only
#: NVIDIA's own builds of torch have (ring_exchange)
OTHERS = frozenset({
    "algorithms", "argparse_util", "autograd", "benchmarks", "c10d_logger", "checkpoint", "collective_utils",
    "config", "constants", "debug", "default_pg_timeout", "device_mesh", "distributed_c10d", "elastic", "examples",
    "flight_recorder", "fsdp", "get_debug_level", "group", "launch", "launcher", "log", "logging",
    "logging_handlers", "nn", "optim", "pipeline", "pipelining", "record_comm", "reduce_op",
    "register_rendezvous_handler", "remote_device", "rendezvous", "ring_exchange", "rpc", "run", "set_debug_level",
    "set_debug_level_from_env", "shrink_group", "supports_complex", "sys", "tensor", "timedelta", "torch",
    "traceback", "types", "typing", "utils", "warnings",
})  # fmt: skip
#: names that a vendor's own torch adds
VENDORS = frozenset({"is_hccl_available", "is_cncl_available", "is_mccl_available", "is_eccl_available"})
REDUCTIONS = frozenset({
    "SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR", "PREMUL_SUM", "RedOpType", "name", "value",
    "names", "values", "UNUSED",
})  # fmt: skip

#: names that older versions do not have
SINCE: dict[str, tuple[int, int]] = {
    "all_gather_into_tensor": (1, 13), "reduce_scatter_tensor": (1, 13), "all_gather_single": (2, 11),
    "reduce_scatter_single": (2, 11), "init_device_mesh": (2, 2), "split_group": (2, 4), "get_node_local_rank": (2, 3),
    "get_process_group_ranks": (1, 13), "breakpoint": (2, 0), "send_object_list": (2, 2), "recv_object_list": (2, 2),
    "monitored_barrier": (1, 8), "scatter_object_list": (1, 8), "batch_isend_irecv": (1, 7),
    "is_torchelastic_launched": (1, 9),
}  # fmt: skip
#: keywords that older versions do not take
KEYWORDS_SINCE: dict[tuple[str, str], tuple[int, int]] = {
    ("barrier", "timeout"): (2, 9), ("barrier", "device_ids"): (1, 8), ("init_process_group", "device_id"): (2, 3),
    ("init_process_group", "pg_options"): (1, 8), ("new_group", "use_local_synchronization"): (2, 1),
    ("new_group", "device_id"): (2, 5), ("new_group", "group_desc"): (2, 3), ("new_group", "sort_ranks"): (2, 9),
    **{(name, "group_src"): (2, 6) for name in ("broadcast", "broadcast_object_list", "scatter", "recv", "irecv",
                                                 "scatter_object_list")},
    **{(name, "group_dst"): (2, 6) for name in ("reduce", "gather", "gather_object", "send", "isend")},
}  # fmt: skip
#: names that were taken out, with the first version that surely has them no more
REMOVED: dict[str, tuple[int, int]] = {
    f"{name}_multigpu": (2, 3) for name in ("all_reduce", "broadcast", "reduce", "all_gather", "reduce_scatter")
}

#: what is written by mistake, and what is meant: the same arguments
TYPOS = {
    "allreduce": "all_reduce", "allgather": "all_gather", "reducescatter": "reduce_scatter", "alltoall": "all_to_all",
    "is_initialised": "is_initialized", "is_init": "is_initialized", "initialized": "is_initialized",
    "get_worldsize": "get_world_size", "init_processgroup": "init_process_group",
    "destroy_processgroup": "destroy_process_group", "all_gather_objects": "all_gather_object",
    "init_process_groups": "init_process_group", "destroy_process_groups": "destroy_process_group",
}  # fmt: skip
