import math

from torch.optim import AdamW
from torch.optim.lr_scheduler import LambdaLR


def param_groups(model, wd):
    decay, rest = [], []
    for name, p in model.named_parameters():
        if not p.requires_grad:
            continue
        (rest if p.ndim < 2 or name.endswith("bias") else decay).append(p)
    return [{"params": decay, "weight_decay": wd}, {"params": rest, "weight_decay": 0.0}]


def make_optimizer(model, cfg):
    return AdamW(param_groups(model, cfg["weight_decay"]), lr=cfg["lr"], betas=(0.9, 0.98))


def make_schedule(optimizer, total_steps, warmup_ratio=0.03, floor=0.1):
    warmup = max(1, int(total_steps * warmup_ratio))

    def scale(s):
        if s < warmup:
            return s / warmup
        t = min(1.0, (s - warmup) / max(1, total_steps - warmup))
        return floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * t))

    return LambdaLR(optimizer, scale)
