import math

import torch
from torch.optim.lr_scheduler import LambdaLR


def cosine_alphas(steps=1000, s=0.008):
    t = torch.linspace(0, 1, steps + 1, dtype=torch.float64)
    f = torch.cos((t + s) / (1 + s) * math.pi / 2) ** 2
    betas = (1 - f[1:] / f[:-1]).clamp(max=0.999)
    return torch.cumprod(1 - betas, 0).float()


def cosine_with_warmup(optimizer, warmup, total):
    def scale(step):
        if step < warmup:
            return step / max(1, warmup)
        progress = min(1.0, (step - warmup) / max(1, total - warmup))
        return 0.5 * (1 + math.cos(math.pi * progress))

    return LambdaLR(optimizer, scale)
