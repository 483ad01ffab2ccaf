"""Model and data parallel groups."""
import torch

_TENSOR_MODEL_PARALLEL_GROUP = None
_DATA_PARALLEL_GROUP = None
# Host-side (gloo) group of the first rank of every tensor-parallel group; used for run statistics.
_LEADER_GROUP = None


def initialize_model_parallel(tensor_model_parallel_size):
    global _TENSOR_MODEL_PARALLEL_GROUP, _DATA_PARALLEL_GROUP, _LEADER_GROUP
    world_size = torch.distributed.get_world_size()
    rank = torch.distributed.get_rank()
    tp = tensor_model_parallel_size

    leaders = list(range(0, world_size, tp))
    if rank in leaders:
        _LEADER_GROUP = torch.distributed.new_group(leaders, backend="gloo")

    for start in range(0, world_size, tp):
        ranks = list(range(start, start + tp))
        group = torch.distributed.new_group(ranks)
        if rank in ranks:
            _TENSOR_MODEL_PARALLEL_GROUP = group

    for offset in range(tp):
        ranks = list(range(offset, world_size, tp))
        group = torch.distributed.new_group(ranks)
        if rank in ranks:
            _DATA_PARALLEL_GROUP = group


def get_tensor_model_parallel_group():
    return _TENSOR_MODEL_PARALLEL_GROUP


def get_tensor_model_parallel_world_size():
    return torch.distributed.get_world_size(group=_TENSOR_MODEL_PARALLEL_GROUP)


def get_tensor_model_parallel_rank():
    return torch.distributed.get_rank(group=_TENSOR_MODEL_PARALLEL_GROUP)


def get_data_parallel_group():
    return _DATA_PARALLEL_GROUP


def get_data_parallel_world_size():
    return torch.distributed.get_world_size(group=_DATA_PARALLEL_GROUP)


def get_data_parallel_rank():
    return torch.distributed.get_rank(group=_DATA_PARALLEL_GROUP)


def gather_from_leaders(obj):
    """List of `obj` over the tensor-parallel leaders, on global rank 0; None elsewhere."""
    if _LEADER_GROUP is None:
        return None
    root = torch.distributed.get_rank() == 0
    out = [None] * torch.distributed.get_world_size(group=_LEADER_GROUP) if root else None
    torch.distributed.gather_object(obj, out, dst=0, group=_LEADER_GROUP)
    return out
