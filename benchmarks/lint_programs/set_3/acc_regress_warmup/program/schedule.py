import math

from torch.optim.lr_scheduler import LambdaLR


def warmup_cosine(optimizer, total_steps, warmup_ratio, min_ratio=0.0):
    warmup = max(1, int(total_steps * warmup_ratio))

    def scale(step):
        if step < warmup:
            return (step + 1) / warmup
        t = min(1.0, (step - warmup) / max(1, total_steps - warmup))
        return min_ratio + (1 - min_ratio) * 0.5 * (1 + math.cos(math.pi * t))

    return LambdaLR(optimizer, scale)
