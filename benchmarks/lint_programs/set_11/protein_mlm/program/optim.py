import math

import torch
from torch.distributed.tensor import DTensor


def build_optimizer(model, lr, weight_decay):
    decay = [p for p in model.parameters() if p.ndim > 1]
    plain = [p for p in model.parameters() if p.ndim <= 1]
    groups = [{"params": decay, "weight_decay": weight_decay}, {"params": plain, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.98))


def warmup_cosine(opt, warmup, total):
    def factor(step):
        if step < warmup:
            return (step + 1) / warmup
        return 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, total - warmup)))

    return torch.optim.lr_scheduler.LambdaLR(opt, factor)


def _local(t):
    return t.to_local() if isinstance(t, DTensor) else t


@torch.no_grad()
def clip_gradients(params, max_norm):
    """One fused multiply per shard; nn.utils.clip_grad_norm_ was slow with many small DTensors."""
    grads = [_local(p.grad) for p in params if p.grad is not None]
    total_sq = torch.stack([g.float().pow(2).sum() for g in grads]).sum()
    norm = total_sq.sqrt()
    scale = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    torch._foreach_mul_(grads, scale.item())
    return norm
