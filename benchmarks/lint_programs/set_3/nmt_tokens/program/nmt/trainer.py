import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Trainer:
    def __init__(self, model, loader, sampler, device, lr):
        self.model = DDP(model.to(device), device_ids=[device.index] if device.type == "cuda" else None)
        self.loader, self.sampler, self.device = loader, sampler, device
        self.opt = torch.optim.Adam(self.model.parameters(), lr=lr, betas=(0.9, 0.98))
        self.world = dist.get_world_size()

    def step(self, src, tgt):
        nll, tokens = self.model(src.to(self.device), tgt.to(self.device))
        total = tokens.float()
        dist.all_reduce(total)
        # DDP divides by the number of ranks, we want the mean over all tokens of the step
        (nll * self.world / total).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.opt.step()
        self.opt.zero_grad(set_to_none=True)
        return torch.stack([nll.detach(), tokens.float()])

    def fit(self, epochs):
        for epoch in range(epochs):
            self.sampler.set_epoch(epoch)
            self.model.train()
            stats = torch.zeros(2, device=self.device)
            for src, tgt in self.loader:
                stats += self.step(src, tgt)
            dist.all_reduce(stats)
            if dist.get_rank() == 0:
                print(f"epoch {epoch} nll/token {(stats[0] / stats[1]).item():.4f}", flush=True)
                torch.save(self.model.module.state_dict(), "nmt.pt")
