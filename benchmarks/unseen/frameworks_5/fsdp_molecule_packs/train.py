"""Energies of molecules with a message-passing model under fully_shard."""
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from packing import library, pack, to_dense

STEPS, PER_STEP, MAX_PAIRS = 45, 8, 300


class Message(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.send = nn.Linear(dim, dim)
        self.update = nn.Linear(2 * dim, dim)

    def forward(self, atoms, mask):
        pooled = (self.send(atoms) * mask).sum(1, keepdim=True) / mask.sum(1, keepdim=True)
        joined = torch.cat([atoms, pooled.expand_as(atoms)], dim=-1)
        return atoms + torch.tanh(self.update(joined)) * mask


class EnergyModel(nn.Module):
    def __init__(self, dim=16, rounds=4):
        super().__init__()
        self.lift = nn.Linear(7, dim)
        self.rounds = nn.ModuleList(Message(dim) for _ in range(rounds))
        self.energy = nn.Linear(dim, 1)

    def forward(self, atoms, mask):
        x = self.lift(atoms) * mask
        for layer in self.rounds:
            x = layer(x, mask)
        return (self.energy(x) * mask).sum((1, 2))


class Stepper:
    """One optimizer step over the packs of a batch; gradients are reduced with the last."""

    def __init__(self, model, optimizer):
        self.model = model
        self.optimizer = optimizer

    def step(self, molecules):
        packs = list(pack(molecules, MAX_PAIRS))
        total = 0.0
        for i, members in enumerate(packs):
            self.model.set_requires_gradient_sync(i == len(packs) - 1)
            atoms, mask = to_dense(members)
            target = (atoms.square() * mask).sum((1, 2)) / 10
            loss = (self.model(atoms, mask) - target).square().sum() / len(molecules)
            loss.backward()
            total += loss.item()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return total


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh("cpu", (world,), mesh_dim_names=("dp",))
    torch.manual_seed(6)
    model = EnergyModel()
    for layer in model.rounds:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    stepper = Stepper(model, torch.optim.Adam(model.parameters(), lr=1e-3))

    for step, molecules in enumerate(library(rank, STEPS, PER_STEP)):
        total = stepper.step(molecules)
        time.sleep(0.02)
        if rank == 0 and step % 9 == 0:
            print(f"step {step}: {total:.3f}", flush=True)

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
