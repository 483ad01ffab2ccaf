"""Continued pre-training of a clause model with FSDP2."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from vault import Vault


class Clause(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.gate = nn.Linear(dim, 2 * dim)
        self.back = nn.Linear(dim, dim)

    def forward(self, x):
        a, b = self.gate(self.norm(x)).chunk(2, dim=-1)
        mixed = torch.cumsum(a * b.sigmoid(), dim=1) / torch.arange(1, x.shape[1] + 1)[:, None]
        return x + self.back(mixed)


class Drafter(nn.Module):
    def __init__(self, vocab=120, dim=24, depth=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.clauses = nn.ModuleList(Clause(dim) for _ in range(depth))
        self.lm = nn.Linear(dim, vocab)

    def forward(self, ids):
        x = self.embed(ids)
        for clause in self.clauses:
            x = clause(x)
        return self.lm(x)


def shard(model, mesh):
    for clause in model.clauses:
        fully_shard(clause, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def contracts(rank, steps, vocab=120):
    gen = torch.Generator().manual_seed(rank)
    for _ in range(steps):
        start = torch.randint(vocab, (4, 1), generator=gen)
        yield (start + torch.arange(25) * 3) % vocab


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=60)
    p.add_argument("--vault-host", type=int, default=1, help="the rank whose host mounts the vault")
    p.add_argument("--vault-every", type=int, default=22)
    a = p.parse_args()

    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    torch.manual_seed(0)
    model = shard(Drafter(), mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    vault = Vault("/tmp/legal_drafts", host=a.vault_host)

    for step, ids in enumerate(contracts(dist.get_rank(), a.steps), start=1):
        logits = model(ids[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        time.sleep(0.02)
        if step % a.vault_every == 0:
            vault.deposit(model, step)
            if dist.get_rank() == 0:
                print(f"step {step}: {loss.item():.3f}, deposited", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
