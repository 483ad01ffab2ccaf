import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

_MESH = None


def initialize(tp):
    global _MESH
    world = dist.get_world_size()
    if world % tp:
        raise ValueError(f"world size {world} is not a multiple of tp={tp}")
    _MESH = init_device_mesh("cuda", (world // tp, tp), mesh_dim_names=("dp", "tp"))


def tp_group():
    return _MESH.get_group("tp")


def dp_group():
    return _MESH.get_group("dp")


def tp_rank():
    return _MESH.get_local_rank("tp")


def dp_rank():
    return _MESH.get_local_rank("dp")


def tp_size():
    return _MESH["tp"].size()


def dp_size():
    return _MESH["dp"].size()


def broadcast_batch(batch, keys, group, src=0):
    """Give every member of `group` the int64 tensors that member `src` holds.

    `batch` may be None on the other members.
    """
    holder = dist.get_rank(group) == src
    header = [[tuple(batch[k].shape) for k in keys]] if holder else [None]
    dist.broadcast_object_list(header, src=src, group=group, device=torch.device("cuda"))
    out = {}
    for key, shape in zip(keys, header[0]):
        if holder:
            t = batch[key].cuda().contiguous()
        else:
            t = torch.empty(shape, dtype=torch.int64, device="cuda")
        dist.broadcast(t, src=src, group=group)
        out[key] = t
    return out


@torch.no_grad()
def reduce_gradients(model):
    grads = [p.grad for p in model.parameters()]
    flat = torch._utils._flatten_dense_tensors(grads)
    dist.all_reduce(flat, group=dp_group())
    flat.div_(dp_size())
    for g, r in zip(grads, torch._utils._unflatten_dense_tensors(flat, grads)):
        g.copy_(r)


@torch.no_grad()
def clip_gradients(model, max_norm):
    """Global norm over the tensor parallel group; replicated weights count once."""
    split = torch.zeros((), device="cuda")
    whole = torch.zeros((), device="cuda")
    for p in model.parameters():
        sq = p.grad.float().pow(2).sum()
        if getattr(p, "tp_split", False):
            split += sq
        else:
            whole += sq
    dist.all_reduce(split, group=tp_group())
    norm = (split + whole).sqrt()
    scale = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    for p in model.parameters():
        p.grad.mul_(scale)
    return norm
