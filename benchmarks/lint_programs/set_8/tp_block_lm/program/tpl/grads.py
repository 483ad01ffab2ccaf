import torch
import torch.distributed as dist

from . import mpu


def average_over_data_parallel(params):
    grads = [p.grad for p in params if p.grad is not None]
    flat = torch.cat([g.flatten() for g in grads])
    dist.all_reduce(flat, group=mpu.dp_group())
    flat /= mpu.dp_size()
    for g, new in zip(grads, flat.split([g.numel() for g in grads])):
        g.copy_(new.view_as(g))


@torch.no_grad()
def clip_grad_norm(params, max_norm, eps=1e-6):
    params = [p for p in params if p.grad is not None]
    total = torch.zeros(())
    for p in params:
        total += p.grad.float().pow(2).sum()
    norm = total.sqrt()
    scale = max_norm / (norm + eps)
    if scale < 1.0:
        for p in params:
            p.grad.mul_(scale)
    return norm
