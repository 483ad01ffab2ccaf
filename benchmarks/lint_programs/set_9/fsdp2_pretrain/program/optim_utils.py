import math

import torch
from torch.distributed.tensor import DTensor


def param_groups(model, weight_decay):
    """No decay for norms, biases and other vectors."""
    decay = [p for p in model.parameters() if p.ndim >= 2]
    rest = [p for p in model.parameters() if p.ndim < 2]
    return [
        {"params": decay, "weight_decay": weight_decay},
        {"params": rest, "weight_decay": 0.0},
    ]


def cosine_with_warmup(step, warmup, total, floor=0.1):
    if step < warmup:
        return (step + 1) / warmup
    t = min(1.0, (step - warmup) / max(1, total - warmup))
    return floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * t))


@torch.no_grad()
def clip_gradients(parameters, max_norm, eps=1e-6):
    """Fused version of clip_grad_norm_ that skips DTensor dispatch per parameter.

    Returns the norm before clipping.
    """
    grads = []
    for p in parameters:
        if p.grad is None:
            continue
        grads.append(p.grad.to_local() if isinstance(p.grad, DTensor) else p.grad)
    norms = torch._foreach_norm(grads, 2.0)
    total_norm = torch.linalg.vector_norm(torch.stack(norms))
    scale = torch.clamp(max_norm / (total_norm + eps), max=1.0)
    torch._foreach_mul_(grads, scale)
    return total_norm
