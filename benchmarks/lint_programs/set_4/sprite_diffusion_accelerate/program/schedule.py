import math

from torch.optim.lr_scheduler import LambdaLR


def warmup_cosine(optimizer, warmup_steps, total_steps):
    def scale(step):
        if step < warmup_steps:
            return step / max(1, warmup_steps)
        done = min(1.0, (step - warmup_steps) / max(1, total_steps - warmup_steps))
        return 0.5 * (1 + math.cos(math.pi * done))

    return LambdaLR(optimizer, scale)
