"""Warm start from the weights of an earlier run, also for partitioned models."""
import deepspeed
import torch
import torch.distributed as dist


def read_weights(path):
    """Only rank 0 reads the file; the other ranks get the names."""
    state = torch.load(path, map_location="cpu", weights_only=True) if dist.get_rank() == 0 else {}
    names = [sorted(state)]
    dist.broadcast_object_list(names, src=0)
    return state, set(names[0])


@torch.no_grad()
def warm_start(model, path):
    state, names = read_weights(path)
    loaded, fresh = [], []
    for name, param in model.named_parameters():
        if name not in names:
            fresh.append(name)
            continue
        with deepspeed.zero.GatheredParameters([param]):
            if dist.get_rank() == 0:
                param.copy_(state[name].to(param.device, param.dtype))
        loaded.append(name)
    if dist.get_rank() == 0:
        print(f"warm start: {len(loaded)} tensors from {path}, {len(fresh)} fresh", flush=True)
    return fresh
