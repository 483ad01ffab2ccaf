"""Every collective operation by its canonical name. Renamed APIs are known by both names.

Those of torch.distributed come from model/c10d.py. Checked against torch 2.13 (`distributed.nn`), accelerate 1.x,
lightning 2.x, ignite 0.5, mmengine 0.10, horovod 0.28, Ray 2.60 and torch_xla 2.x.
"""

from __future__ import annotations

from ddpdoctor.lint.knowledge.aliases import FSDP
from ddpdoctor.model import c10d
from ddpdoctor.model.c10d import Function
from ddpdoctor.model.framework_meetings import MEETINGS
from ddpdoctor.model.named_tuple import NamedTuple


class Collective(NamedTuple):
    """An operation that every member of a group must enter."""

    op: str
    #: position of the group argument, -1 if the operation takes none
    group: int = -1
    #: name of the parameter(s) whose tensors it overwrites with the same value on every rank
    overwrites: tuple[tuple[int, str], ...] = ()
    #: its result is equal on all ranks
    returns_uniform: bool = False
    #: point-to-point: not part of the sequence that all ranks must share
    pairwise: bool = False


def _of(row: Function) -> Collective:
    """A row of c10d's table as lint reads it: point-to-point calls and calls that create groups have no
    group argument.
    """
    group = -1 if row.pairwise or row.makes_groups else row.position("group")
    overwrites = ((row.position(row.overwrites), row.overwrites),) if row.overwrites else ()
    return Collective(row.counts_as, group, overwrites, pairwise=row.pairwise)


_C10D = {
    **{row.name: _of(row) for row in c10d.FUNCTIONS.values() if row.counts_as},
    "batch_isend_irecv": Collective("batch_isend_irecv", pairwise=True),
    "rpc.init_rpc": Collective("init_rpc"),
    "rpc.shutdown": Collective("rpc.shutdown"),
}
#: operation -> parameter whose tensors it fills, where ranks get different ones: equal ones are in c10d's table
FILLS = {
    "reduce": "tensor", "gather": "gather_list", "scatter": "tensor", "irecv": "tensor", "all_to_all_single": "output",
    "all_to_all": "output_tensor_list", "reduce_scatter": "output", "reduce_scatter_tensor": "output",
    "reduce_scatter_single": "output", "_reduce_scatter_base": "output",
}  # fmt: skip
#: of those, the ones that give each rank its part of a sum over all
GIVES_PARTS = frozenset(op for op in FILLS if "reduce_scatter" in op)
#: sums up what the ranks give for one of them alone, in place of what that one has given
REDUCE = "torch.distributed.reduce"
#: their names
NAMES = frozenset(_C10D)
#: operations of torch.distributed itself, whose group is an argument
PLAIN = frozenset(spec.op for spec in _C10D.values())
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
#: give each rank what all of them have, in the order of their numbers
GATHERING = frozenset({"all_gather", "all_gather_into_tensor", "all_gather_single"})
#: give each rank what the others have sent to it, with the position of the sizes of what it receives
EXCHANGES = {
    "torch.distributed.all_to_all_single": 2,
    "torch.distributed.nn.all_to_all_single": 2,
    "torch.distributed._functional_collectives.all_to_all_single": 1,
    "torch.distributed._functional_collectives.all_to_all_single_autograd": 1,
}
_CHECKPOINT = ("save", "load", "async_save", "save_state_dict", "load_state_dict", "load_sharded_optimizer_state_dict")
#: functions that gather or write state that is sharded over ranks
#: make tensors that are distributed over a mesh: the first rank's values go to all (torch 2.13, `src_data_rank`)
_DISTRIBUTING = ("distribute_tensor", "distribute_module", "parallel.parallelize_module")
_OPTIMIZER_STATE = ("optim_state_dict", "full_optim_state_dict", "sharded_optim_state_dict")
_SHARDED = {
    **{f"torch.distributed.checkpoint.{name}": Collective(f"checkpoint.{name}") for name in _CHECKPOINT},
    **{f"torch.distributed.tensor.{name}": Collective(name.rpartition(".")[2], 1) for name in _DISTRIBUTING},
    "torch.distributed._tensor.distribute_tensor": Collective("distribute_tensor", 1),
    **{f"{FSDP}.{name}": Collective("optim_state_dict (FSDP)") for name in _OPTIMIZER_STATE},
    f"{FSDP}.summon_full_params": Collective("summon_full_params (FSDP)"),
}
SAVING = frozenset({
    "state_dict (FSDP)", "optim_state_dict (FSDP)", "save_checkpoint (DeepSpeed)", "save_16bit_model (DeepSpeed)",
    "save_checkpoint (Lightning)", "save (Fabric)", "full_tensor", "checkpoint.save", "checkpoint.async_save",
    "checkpoint.save_state_dict", "summon_full_params (FSDP)", "consolidate_state_dict", "get_model_state_dict",
    "_zero3_consolidated_16bit_state_dict",
    "get_optimizer_state_dict", "get_state_dict",
})  # fmt: skip
#: method names that mean one operation on any object, because no other library uses them
DUCK_METHODS: dict[str, Collective] = {
    "wait_for_everyone": Collective("wait_for_everyone"),
    "full_tensor": Collective("full_tensor"),
    "consolidate_state_dict": Collective("consolidate_state_dict"),
    # of DeepSpeed's engine: gathers every parameter, and keeps the result on rank 0
    "_zero3_consolidated_16bit_state_dict": Collective("_zero3_consolidated_16bit_state_dict"),
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
#: those of them that write into an argument: its position and name
_OVERWRITING = {
    "horovod.torch.allreduce_": (0, "tensor"),
    "horovod.torch.allreduce_async_": (0, "tensor"),
    "horovod.torch.broadcast_": (0, "tensor"),
    "horovod.torch.broadcast_async_": (0, "tensor"),
    "horovod.torch.grouped_allreduce_": (0, "tensors"),
    "mmengine.dist.all_reduce": (0, "data"),
    "mmengine.dist.all_reduce_dict": (0, "data"),
    "mmengine.dist.broadcast": (0, "data"),
    "mmengine.dist.broadcast_object_list": (0, "data"),
    "torch_xla.core.xla_model.all_reduce": (1, "inputs"),
    "accelerate.utils.broadcast": (0, "tensor"),
    "accelerate.utils.broadcast_object_list": (0, "object_list"),
}
_XM = ("all_reduce", "all_gather", "mesh_reduce", "rendezvous", "reduce_scatter", "all_to_all", "optimizer_step",
       "broadcast_master_param", "save")  # fmt: skip
_DETECTRON = ("synchronize", "all_gather", "gather", "shared_random_seed", "reduce_dict")
_ACCELERATE = ("gather", "gather_object", "broadcast", "broadcast_object_list", "reduce", "wait_for_everyone",
               "pad_across_processes", "synchronize_rng_states")  # fmt: skip


#: return the result on one rank, and on the others what is none
_OF_ONE_RANK = frozenset({"torch.distributed.nn.reduce", "detectron2.utils.comm.reduce_dict"})


def _is_uniform(op: str) -> bool:
    """Whether the operation returns the same on all ranks: not a part of it, and not on one rank only."""
    parts = any(word in op for word in ("scatter", "to_all", "alltoall"))
    return not parts and ("gather" not in op or "all" in op)


def _of_library(path: str, name: str) -> Collective:
    written = (_OVERWRITING[path],) if path in _OVERWRITING else ()
    return Collective(name, overwrites=written, returns_uniform=_is_uniform(name) and path not in _OF_ONE_RANK)


def _collectives() -> dict[str, Collective]:
    table = {f"torch.distributed.{name}": spec for name, spec in _C10D.items()}
    for name, row in c10d.FUNCTIONAL.items():
        spec = Collective(row.counts_as, row.group, returns_uniform=_is_uniform(row.counts_as))
        table[f"torch.distributed._functional_collectives.{name}"] = spec
    for name, group in _NN.items():
        path = f"torch.distributed.nn.{name}"
        table[path] = Collective(name, group, returns_uniform=_is_uniform(name) and path not in _OF_ONE_RANK)
    table |= _SHARDED
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
        table.update((f"{prefix}.{name}", _of_library(f"{prefix}.{name}", name)) for name in names)
    table["ignite.distributed.auto_model"] = Collective("auto_model")
    for op in MEETINGS:
        table[op] = Collective(op)
    for path, name in WRAPPERS.items():
        table[path] = Collective(f"{name}()")
    return table


COLLECTIVES: dict[str, Collective] = _collectives()


class Place(NamedTuple):
    """Which argument of a collective is what this rank gives, and which are the tensors that it fills."""

    position: int = 0
    name: str = "tensor"
    #: "" if the operation makes them itself
    fills: str = ""
    fills_at: int = 0


def _of_equal_shapes() -> dict[str, Place]:
    """Functions to which all ranks have to give tensors of one shape."""
    table: dict[str, Place] = {}
    for row in c10d.FUNCTIONS.values():
        if row.equal_sizes and row.gives:
            fills = row.overwrites if row.overwrites.endswith("_list") else ""
            table[f"torch.distributed.{row.name}"] = Place(row.position(row.gives), row.gives, fills)
    # only where its root is told other sizes may they differ
    table["torch.distributed.gather"] = Place(fills="gather_list", fills_at=1)
    for name in ("all_gather", "all_reduce", "gather"):
        table[f"torch.distributed.nn.{name}"] = Place()
    for path in ("mmengine.dist.all_gather", "mmengine.dist.all_reduce", "mmengine.dist.gather"):
        table[path] = Place(name="data")
    for path in ("accelerate.utils.gather", "ignite.distributed.all_gather", "horovod.torch.allreduce"):
        table[path] = Place()
    return table


OF_EQUAL_SHAPES: dict[str, Place] = _of_equal_shapes()
#: operations that sum or collect what the ranks have
PUTTING_TOGETHER = frozenset({
    "all_reduce", "reduce", "allreduce", "reduce_all", "all_gather", "all_gather_object", "all_gather_into_tensor",
    "gather", "gather_object", "gather_all",
})  # fmt: skip
