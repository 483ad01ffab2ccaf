"""What names mean: collectives, rank sources, frameworks. Both spellings of renamed APIs are known.

A collective is written `operation: (canonical name, position of the group argument)`; -1 where it takes none.
Checked against torch 2.13 (`torch.distributed`, `_functional_collectives`, `distributed.nn`), accelerate 1.x,
lightning 2.x, ignite 0.5, mmengine 0.10, horovod 0.28 and torch_xla 2.x.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple


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

FSDP = "torch.distributed.fsdp.FullyShardedDataParallel"
ENGINE = "deepspeed.DeepSpeedEngine"
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
SAMPLER = "torch.utils.data.DistributedSampler"
LOADER = "torch.utils.data.DataLoader"

#: other names of the same thing
SPELLINGS = {
    "torch.nn.parallel.distributed.DistributedDataParallel": "torch.nn.parallel.DistributedDataParallel",
    "torch.utils.data.distributed.DistributedSampler": SAMPLER,
    "torch.utils.data.dataloader.DataLoader": LOADER,
    "torch.utils.data.sampler.RandomSampler": "torch.utils.data.RandomSampler",
    "torch.utils.data.sampler.SequentialSampler": "torch.utils.data.SequentialSampler",
    "torch.utils.data.sampler.WeightedRandomSampler": "torch.utils.data.WeightedRandomSampler",
    "torch.utils.data.sampler.SubsetRandomSampler": "torch.utils.data.SubsetRandomSampler",
    "torch.utils.data.sampler.BatchSampler": "torch.utils.data.BatchSampler",
    "torch.utils.data.dataset.IterableDataset": "torch.utils.data.IterableDataset",
    "torch.utils.data.dataset.random_split": "torch.utils.data.random_split",
    "torch.utils.data.dataset.Subset": "torch.utils.data.Subset",
    "accelerate.accelerator.Accelerator": "accelerate.Accelerator",
    "accelerate.state.PartialState": "accelerate.PartialState",
    "lightning.Fabric": "lightning.fabric.Fabric",
    "lightning.Trainer": "lightning.pytorch.Trainer",
    "lightning_fabric.Fabric": "lightning.fabric.Fabric",
    "torch.distributed.fsdp.fully_sharded_data_parallel.FullyShardedDataParallel": FSDP,
}

_MODULE_SPELLINGS = (
    ("torch.distributed.distributed_c10d.", "torch.distributed."),
    ("deepspeed.comm.", "torch.distributed."),
    ("torch.distributed.nn.functional.", "torch.distributed.nn."),
    ("horovod.torch.mpi_ops.", "horovod.torch."),
    ("pytorch_lightning.", "lightning.pytorch."),
    ("ignite.distributed.utils.", "ignite.distributed."),
    ("ignite.distributed.auto.", "ignite.distributed."),
    ("ignite.distributed.launcher.", "ignite.distributed."),
    ("mmengine.dist.utils.", "mmengine.dist."),
)

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

#: calls that give this process's place in the job
RANK_CALLS = frozenset({
    "torch.distributed.get_rank",
    "horovod.torch.rank",
    "ignite.distributed.get_rank",
    "mmengine.dist.get_rank",
    "torch_xla.core.xla_model.get_ordinal",
    "torch_xla.runtime.global_ordinal",
    "detectron2.utils.comm.get_rank",
})  # fmt: skip
LOCAL_RANK_CALLS = frozenset({
    "torch.distributed.get_node_local_rank",
    "horovod.torch.local_rank",
    "ignite.distributed.get_local_rank",
    "mmengine.dist.get_local_rank",
    "torch_xla.core.xla_model.get_local_ordinal",
    "detectron2.utils.comm.get_local_rank",
})  # fmt: skip
WORLD_CALLS = frozenset({
    "torch.distributed.get_world_size",
    "horovod.torch.size",
    "horovod.torch.local_size",
    "ignite.distributed.get_world_size",
    "mmengine.dist.get_world_size",
    "torch_xla.core.xla_model.xrt_world_size",
    "detectron2.utils.comm.get_world_size",
})  # fmt: skip
#: true on rank 0 only
FIRST_RANK_CALLS = frozenset({
    "mmengine.dist.is_main_process",
    "detectron2.utils.comm.is_main_process",
    "torch_xla.core.xla_model.is_master_ordinal",
})  # fmt: skip
#: the simulated job has a process group: these are true
INITIALISED_CALLS = frozenset({
    "torch.distributed.is_initialized",
    "torch.distributed.is_available",
    "torch.distributed.is_torchelastic_launched",
    "torch.distributed.is_nccl_available",
    "torch.distributed.is_gloo_available",
    "ignite.distributed.has_native_dist_support",
    "mmengine.dist.is_distributed",
})  # fmt: skip

RANK_VARIABLES = {"RANK": RANK_CALLS, "LOCAL_RANK": LOCAL_RANK_CALLS, "WORLD_SIZE": WORLD_CALLS}

#: attributes that mean one thing on any object
FIRST_RANK_ATTRIBUTES = frozenset({"is_main_process", "is_global_zero", "is_world_process_zero"})
FIRST_LOCAL_RANK_ATTRIBUTES = frozenset({"is_local_main_process", "is_local_process_zero"})

#: decorators that let only rank 0 run the body
FIRST_RANK_DECORATORS = frozenset({
    "rank_zero_only",
    "on_main_process",
    "master_only",
    "main_process_only",
    "on_local_main_process",
    "one_rank_only",
})  # fmt: skip

#: modules whose functions compute from their arguments and talk to nobody
PURE_PREFIXES = ("torch.", "math.", "numpy.", "builtins.", "operator.", "itertools.", "functools.")

#: methods of tensors and numbers that compute from the receiver alone
PURE_METHODS = frozenset({
    "item", "mean", "sum", "max", "min", "detach", "cpu", "cuda", "to", "float", "double", "half", "long",
    "int", "bool", "any", "all", "abs", "isnan", "isinf", "isfinite", "norm", "clone", "view", "reshape",
    "squeeze", "unsqueeze", "argmax", "eq", "ne", "lt", "gt", "le", "ge", "numel", "size", "tolist", "numpy",
    "contiguous", "type", "new_tensor", "add", "sub", "mul", "div", "pow", "sqrt", "exp", "log", "flatten",
    "topk", "sort", "keys", "values", "items", "get", "copy", "strip", "lower", "upper", "split",
})  # fmt: skip

#: the wall clock: never the same on two ranks
CLOCK_CALLS = frozenset({
    "time.time", "time.perf_counter", "time.monotonic", "time.process_time", "time.time_ns",
    "datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today", "time.strftime", "time.ctime",
    "time.localtime", "time.gmtime", "time.asctime",
})  # fmt: skip
#: fresh on every process, whatever the seed
UNIQUE_CALLS = frozenset({
    "uuid.uuid4", "uuid.uuid1", "tempfile.mkdtemp", "tempfile.mkstemp", "tempfile.mktemp",
    "tempfile.TemporaryDirectory", "tempfile.NamedTemporaryFile", "secrets.token_hex", "os.getpid",
})  # fmt: skip

_ACCELERATE_MODULES = ("accelerate.utils.operations.", "accelerate.utils.other.", "accelerate.utils.random.")


@lru_cache(maxsize=1 << 14)
def canonical(path: str) -> str:
    """The one name used in these tables for an external object."""
    found = SPELLINGS.get(path)
    if found is not None:
        return found
    for old, new in _MODULE_SPELLINGS:
        if path.startswith(old):
            path = new + path[len(old) :]
    for old in _ACCELERATE_MODULES:
        if path.startswith(old):
            path = "accelerate.utils." + path[len(old) :]
    if path.startswith("mmengine.dist.dist."):
        path = "mmengine.dist." + path[len("mmengine.dist.dist.") :]
    return SPELLINGS.get(path, path)
