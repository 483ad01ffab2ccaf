"""Every collective operation by its canonical name. Both spellings of renamed APIs are known.

A collective is written `operation: (canonical name, position of the group argument)`; -1 where it takes none.
Checked against torch 2.13 (`torch.distributed`, `_functional_collectives`, `distributed.nn`), accelerate 1.x,
lightning 2.x, ignite 0.5, mmengine 0.10, horovod 0.28 and torch_xla 2.x.
"""

from __future__ import annotations

from typing import NamedTuple

from ddpdoctor.lint.knowledge.aliases import FSDP


class Collective(NamedTuple):
    """An operation that every member of a group must enter."""

    op: str
    #: position of the group argument, -1 where the operation takes none
    group: int = -1
    #: name of the parameter(s) whose tensors it overwrites with the same value on every rank
    overwrites: tuple[tuple[int, str], ...] = ()
    #: what it returns is equal on all ranks
    returns_uniform: bool = False
    #: point-to-point: not part of the sequence that all ranks must share
    pairwise: bool = False


def _in_place(op: str, group: int, position: int, name: str) -> Collective:
    return Collective(op, group, ((position, name),))


_C10D = {
    "barrier": Collective("barrier", 0),
    "monitored_barrier": Collective("barrier", 0),
    "all_reduce": _in_place("all_reduce", 2, 0, "tensor"),
    "all_reduce_coalesced": _in_place("all_reduce", 2, 0, "tensors"),
    "broadcast": _in_place("broadcast", 2, 0, "tensor"),
    "broadcast_object_list": _in_place("broadcast_object_list", 2, 0, "object_list"),
    "all_gather": _in_place("all_gather", 2, 0, "tensor_list"),
    "all_gather_coalesced": _in_place("all_gather", 2, 0, "output_tensor_lists"),
    "all_gather_object": _in_place("all_gather_object", 2, 0, "object_list"),
    "all_gather_into_tensor": _in_place("all_gather_into_tensor", 2, 0, "output_tensor"),
    "all_gather_single": _in_place("all_gather_into_tensor", 2, 0, "output_tensor"),
    "_all_gather_base": _in_place("all_gather_into_tensor", 2, 0, "output_tensor"),
    "reduce": Collective("reduce", 3),
    "gather": Collective("gather", 3),
    "gather_object": Collective("gather_object", 3),
    "scatter": Collective("scatter", 3),
    "scatter_object_list": Collective("scatter_object_list", 3),
    "reduce_scatter": Collective("reduce_scatter", 3),
    "reduce_scatter_tensor": Collective("reduce_scatter_tensor", 3),
    "reduce_scatter_single": Collective("reduce_scatter_tensor", 3),
    "_reduce_scatter_base": Collective("reduce_scatter_tensor", 3),
    "all_to_all": Collective("all_to_all", 2),
    "all_to_all_single": Collective("all_to_all_single", 4),
    "new_group": Collective("new_group"),
    "new_subgroups": Collective("new_group"),
    "new_subgroups_by_enumeration": Collective("new_group"),
    "split_group": Collective("new_group"),
    "shrink_group": Collective("new_group"),
    "breakpoint": Collective("barrier"),
    "rpc.init_rpc": Collective("init_rpc"),
    "rpc.shutdown": Collective("rpc.shutdown"),
    "init_process_group": Collective("init_process_group"),
    "send": Collective("send", pairwise=True),
    "recv": Collective("recv", pairwise=True),
    "isend": Collective("isend", pairwise=True),
    "irecv": Collective("irecv", pairwise=True),
    "send_object_list": Collective("send", pairwise=True),
    "recv_object_list": Collective("recv", pairwise=True),
    "batch_isend_irecv": Collective("batch_isend_irecv", pairwise=True),
}
#: their names
NAMES = frozenset(_C10D)
#: operations of torch.distributed itself, whose group is told by an argument
PLAIN = frozenset(spec.op for spec in _C10D.values())
#: functional collectives: the operation, whichever of its names it has, and the position of the group
_FUNCTIONAL = {
    "all_reduce": ("all_reduce", 2),
    "all_reduce_coalesced": ("all_reduce", 2),
    **{f"all_gather_{name}": ("all_gather_into_tensor", 2)
       for name in ("tensor", "single", "tensor_autograd", "single_autograd")},
    **{f"all_gather_{name}_coalesced": ("all_gather_into_tensor", 1) for name in ("into_tensor", "single")},
    **{f"reduce_scatter_{name}": ("reduce_scatter_tensor", 3)
       for name in ("tensor", "single", "tensor_autograd", "single_autograd", "tensor_coalesced", "single_coalesced")},
    "all_to_all_single": ("all_to_all_single", 3),
    "all_to_all_single_autograd": ("all_to_all_single", 3),
    "broadcast": ("broadcast", 2),
    "barrier": ("barrier", 0),
}  # fmt: skip
_NN = {
    "all_reduce": 2,
    "all_gather": 1,
    "broadcast": 2,
    "gather": 2,
    "reduce": 3,
    "scatter": 2,
    "reduce_scatter": 3,
    "all_to_all": 2,
    "all_to_all_single": 4,
}
_CHECKPOINT = ("save", "load", "async_save", "save_state_dict", "load_state_dict", "load_sharded_optimizer_state_dict")
#: gathering or writing state that is spread over ranks
_OPTIMIZER_STATE = ("optim_state_dict", "full_optim_state_dict", "sharded_optim_state_dict")
SAVING = frozenset({
    "state_dict (FSDP)", "optim_state_dict (FSDP)", "save_checkpoint (DeepSpeed)", "save_16bit_model (DeepSpeed)",
    "save_checkpoint (Lightning)", "save (Fabric)", "full_tensor", "checkpoint.save", "checkpoint.async_save",
    "checkpoint.save_state_dict",
})  # fmt: skip
#: method names that mean one thing on any object, because no other library uses them
DUCK_METHODS: dict[str, Collective] = {
    "wait_for_everyone": Collective("wait_for_everyone"),
    "full_tensor": Collective("full_tensor"),
    "main_process_first": Collective("main_process_first"),
    "local_main_process_first": Collective("main_process_first"),
}
WRAPPERS = {
    "torch.nn.parallel.DistributedDataParallel": "DistributedDataParallel",
    "apex.parallel.DistributedDataParallel": "apex DistributedDataParallel",
}
_HVD = ("allreduce", "allreduce_", "allgather", "broadcast", "broadcast_", "broadcast_parameters", "broadcast_object",
        "broadcast_optimizer_state", "barrier", "alltoall", "reducescatter", "join", "allgather_object",
        "allreduce_async", "allreduce_async_", "allgather_async", "broadcast_async", "broadcast_async_",
        "grouped_allreduce", "grouped_allreduce_", "alltoall_async")  # fmt: skip
_IDIST = ("all_reduce", "all_gather", "broadcast", "barrier", "all_gather_tensors_with_shapes", "one_rank_first")
_MMENGINE = ("all_reduce", "all_gather", "broadcast", "barrier", "sync_random_seed", "broadcast_object_list",
             "all_reduce_dict", "all_gather_object", "gather", "gather_object", "collect_results",
             "collect_results_cpu", "collect_results_gpu", "all_reduce_params")  # fmt: skip
_XM = ("all_reduce", "all_gather", "mesh_reduce", "rendezvous", "reduce_scatter", "all_to_all", "optimizer_step",
       "broadcast_master_param", "save")  # fmt: skip
_DETECTRON = ("synchronize", "all_gather", "gather", "shared_random_seed", "reduce_dict")
_ACCELERATE = ("gather", "gather_object", "broadcast", "broadcast_object_list", "reduce", "wait_for_everyone",
               "pad_across_processes", "synchronize_rng_states")  # fmt: skip


def _is_uniform(op: str) -> bool:
    """What the operation returns is the same on all ranks: not a part of it, and not on one rank only."""
    parts = any(word in op for word in ("scatter", "to_all", "alltoall"))
    return not parts and ("gather" not in op or "all" in op)


def _collectives() -> dict[str, Collective]:
    table = {f"torch.distributed.{name}": spec for name, spec in _C10D.items()}
    for name, (op, group) in _FUNCTIONAL.items():
        spec = Collective(op, group, returns_uniform=_is_uniform(op))
        table[f"torch.distributed._functional_collectives.{name}"] = spec
    for name, group in _NN.items():
        table[f"torch.distributed.nn.{name}"] = Collective(name, group, returns_uniform=_is_uniform(name))
    for name in _CHECKPOINT:
        table[f"torch.distributed.checkpoint.{name}"] = Collective(f"checkpoint.{name}")
    table["torch.distributed.device_mesh.init_device_mesh"] = Collective("new_group")
    table["torch.distributed.init_device_mesh"] = Collective("new_group")
    for prefix, names in (
        ("horovod.torch", _HVD),
        ("ignite.distributed", _IDIST),
        ("mmengine.dist", _MMENGINE),
        ("torch_xla.core.xla_model", _XM),
        ("detectron2.utils.comm", _DETECTRON),
        ("accelerate.utils", _ACCELERATE),
    ):
        for name in names:
            table[f"{prefix}.{name}"] = Collective(name, returns_uniform=_is_uniform(name))
    for name in _OPTIMIZER_STATE:
        table[f"{FSDP}.{name}"] = Collective("optim_state_dict (FSDP)")
    table["ignite.distributed.auto_model"] = Collective("auto_model")
    for path, name in WRAPPERS.items():
        table[path] = Collective(f"{name}()")
    return table


COLLECTIVES: dict[str, Collective] = _collectives()
