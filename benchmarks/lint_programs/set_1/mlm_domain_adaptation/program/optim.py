import math

import torch
from torch.optim.lr_scheduler import LambdaLR

NO_DECAY = ("bias", "LayerNorm.weight")


def adamw(model, lr, weight_decay=0.01):
    decay, rest = [], []
    for name, param in model.named_parameters():
        (rest if name.endswith(NO_DECAY) else decay).append(param)
    groups = [{"params": decay, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.98), eps=1e-6)


def warmup_cosine(optimizer, total, warmup, floor=0.0):
    first = max(int(total * warmup), 1)

    def factor(step):
        if step < first:
            return (step + 1) / first
        progress = min((step - first) / max(total - first, 1), 1.0)
        return floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * progress))

    return LambdaLR(optimizer, factor)
