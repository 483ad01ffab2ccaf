import torch.distributed as dist
from deepspeed.utils import safe_get_full_fp32_param


class WeightWatch:
    """Prints how far the weights have come from where they were at the last look."""

    def __init__(self, engine, every):
        self.engine = engine
        self.every = every
        self.last = {}

    def after_step(self):
        step = self.engine.global_steps
        if step % self.every or dist.get_rank() != 0:
            return
        moved = {}
        for name, parameter in self.engine.module.named_parameters():
            weight = safe_get_full_fp32_param(parameter).clone()
            if name in self.last:
                moved[name] = (weight - self.last[name]).norm().item()
            self.last[name] = weight
        print(f"step {step}: {moved}", flush=True)
