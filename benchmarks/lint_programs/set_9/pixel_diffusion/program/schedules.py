import math

import torch
from torch.optim.lr_scheduler import LambdaLR


def cosine_with_warmup(optimizer, num_warmup_steps, num_training_steps, floor=0.0):
    """Linear warmup over ``num_warmup_steps`` calls of step(), then a half cosine to ``floor``."""

    def factor(step):
        if step < num_warmup_steps:
            return step / max(1, num_warmup_steps)
        progress = (step - num_warmup_steps) / max(1, num_training_steps - num_warmup_steps)
        return max(floor, 0.5 * (1.0 + math.cos(math.pi * min(1.0, progress))))

    return LambdaLR(optimizer, factor)


class NoiseSchedule:
    def __init__(self, num_steps=200, beta_start=1e-4, beta_end=0.02):
        betas = torch.linspace(beta_start, beta_end, num_steps)
        self.num_steps = num_steps
        self.alphas_cumprod = torch.cumprod(1.0 - betas, dim=0)

    def add_noise(self, clean, noise, t):
        a = self.alphas_cumprod.to(clean.device)[t].view(-1, 1, 1, 1)
        return a.sqrt() * clean + (1.0 - a).sqrt() * noise
