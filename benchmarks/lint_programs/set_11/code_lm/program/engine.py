import os

import torch
import torch.distributed as dist
from torch import nn


class Trainer:
    def __init__(self, cfg, model, objective, batches, device):
        self.cfg, self.model, self.objective = cfg, model, objective
        self.batches, self.device = batches, device
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=cfg["lr"], betas=(0.9, 0.95))
        self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, cfg["steps"])

    def step(self):
        ids = next(self.batches).to(self.device)
        loss = self.objective(ids)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg["clip"])
        self.optimizer.step()
        self.schedule.step()
        return loss.detach()

    def run(self):
        self.model.train()
        window = torch.zeros((), device=self.device)
        for step in range(1, self.cfg["steps"] + 1):
            window += self.step()
            if step % self.cfg["log_every"] == 0:
                window /= self.cfg["log_every"] * dist.get_world_size()
                dist.all_reduce(window)
                if dist.get_rank() == 0:
                    print(f"step {step}: loss {window.item():.4f}", flush=True)
                window.zero_()
        self.save()

    def save(self):
        if dist.get_rank() == 0:
            os.makedirs(self.cfg["out"], exist_ok=True)
            torch.save(self.model.module.state_dict(), os.path.join(self.cfg["out"], "last.pt"))
        dist.barrier()
