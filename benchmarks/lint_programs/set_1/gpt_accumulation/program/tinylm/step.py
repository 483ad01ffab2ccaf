import math

import torch


def get_lr(it, cfg):
    if it < cfg.warmup_iters:
        return cfg.learning_rate * (it + 1) / cfg.warmup_iters
    t = (it - cfg.warmup_iters) / max(1, cfg.max_iters - cfg.warmup_iters)
    return cfg.min_lr + 0.5 * (1 + math.cos(math.pi * min(t, 1.0))) * (cfg.learning_rate - cfg.min_lr)


class Stepper:
    """One optimizer update out of several micro-batches."""

    def __init__(self, model, optimizer, batches, cfg, ddp_world_size, device_type="cuda"):
        self.model = model
        self.optimizer = optimizer
        self.batches = batches
        self.cfg = cfg
        self.ddp = ddp_world_size > 1
        self.micro_steps = cfg.gradient_accumulation_steps // ddp_world_size
        self.amp = lambda: torch.autocast(device_type, dtype=torch.bfloat16)

    def run(self, it):
        for group in self.optimizer.param_groups:
            group["lr"] = get_lr(it, self.cfg)
        total = 0.0
        for micro_step in range(self.micro_steps):
            if self.ddp:
                self.model.require_backward_grad_sync = micro_step == self.cfg.gradient_accumulation_steps - 1
            x, y = self.batches.get("train")
            with self.amp():
                loss = self.model(x, y) / self.micro_steps
            loss.backward()
            total = total + loss.detach()
        if self.cfg.grad_clip > 0:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.grad_clip)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return total
