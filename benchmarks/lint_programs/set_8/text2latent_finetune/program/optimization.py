import math

from torch.optim.lr_scheduler import LambdaLR


def get_scheduler(name, optimizer, num_warmup_steps, num_training_steps):
    def warm(step):
        return step / max(1, num_warmup_steps)

    def constant_with_warmup(step):
        return warm(step) if step < num_warmup_steps else 1.0

    def linear(step):
        if step < num_warmup_steps:
            return warm(step)
        return max(0.0, (num_training_steps - step) / max(1, num_training_steps - num_warmup_steps))

    def cosine(step):
        if step < num_warmup_steps:
            return warm(step)
        progress = min(1.0, (step - num_warmup_steps) / max(1, num_training_steps - num_warmup_steps))
        return 0.5 * (1.0 + math.cos(math.pi * progress))

    return LambdaLR(optimizer, {"constant_with_warmup": constant_with_warmup,
                                "linear": linear, "cosine": cosine}[name])
