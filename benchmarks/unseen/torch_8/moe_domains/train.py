"""Domain mixture with FSDP2: experts are sharded one by one, the rest with the root."""
import os
import time
from dataclasses import dataclass

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from moe import DomainMixture


@dataclass
class Config:
    vocab: int = 200
    dim: int = 24
    hidden: int = 48
    batch: int = 12
    steps: int = 40
    lr: float = 1e-3


class Corpus:
    """A stream of pre-sharded files; the mix of domains changes from file to file."""

    def __init__(self, cfg, shard):
        self.cfg = cfg
        self.shard = shard
        self.gen = torch.Generator().manual_seed(shard)

    def mix(self, step):
        if self.shard == 2 and step >= 13:
            return [0, 2]
        return [0, 1, 2]

    def __iter__(self):
        for step in range(self.cfg.steps):
            kinds = self.mix(step)
            domain = torch.tensor([kinds[i % len(kinds)] for i in range(self.cfg.batch)])
            tokens = torch.randint(0, self.cfg.vocab, (self.cfg.batch, 9), generator=self.gen)
            yield tokens, domain, (tokens.sum(1) + domain) % 10


def shard_model(model, mesh):
    for expert in model.experts:
        fully_shard(expert, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    cfg = Config()
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    torch.manual_seed(0)
    model = shard_model(DomainMixture(cfg.vocab, cfg.dim, cfg.hidden), mesh)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    for step, (tokens, domain, target) in enumerate(Corpus(cfg, dist.get_rank())):
        loss = F.cross_entropy(model(tokens, domain), target)
        loss.backward()
        opt.step()
        opt.zero_grad()
        time.sleep(0.02)
        if step % 5 == 0 and dist.get_rank() == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
