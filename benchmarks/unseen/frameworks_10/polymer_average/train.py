"""Glass transition of polymers from monomer sequences; a small transformer under fully_shard (FSDP2), averaged weights."""
import os
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from averaging import AveragedWeights

MONOMERS = 24
STEPS = 240


class PolymerNet(nn.Module):
    def __init__(self, width=64, layers=3):
        super().__init__()
        self.embed = nn.Embedding(MONOMERS, width)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True) for _ in range(layers)
        )
        self.out = nn.Linear(width, 1)

    def forward(self, chains):
        hidden = self.embed(chains)
        for layer in self.layers:
            hidden = layer(hidden)
        return self.out(hidden.mean(dim=1)).squeeze(1)


def sharded(model, mesh):
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


class Trainer:
    def __init__(self, model, rank, world):
        self.model = model
        self.rank, self.world = rank, world
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        self.average = AveragedWeights(model) if rank == 0 else None
        self.generator = torch.Generator().manual_seed(100 + rank)
        self.stiffness = torch.randn(MONOMERS, generator=torch.Generator().manual_seed(1))

    def batch(self, size=16, length=20):
        chains = torch.randint(0, MONOMERS, (size, length), generator=self.generator)
        return chains, self.stiffness[chains].mean(dim=1)

    def step(self):
        chains, temperature = self.batch()
        loss = nn.functional.mse_loss(self.model(chains), temperature)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.detach()

    def fit(self, steps, warmup=40, every=10):
        for number in range(1, steps + 1):
            loss = self.step()
            if number % every == 0:
                if self.average is not None and number > warmup:
                    self.average.update(self.model)
                dist.all_reduce(loss)
                if self.rank == 0:
                    print(f"step {number}: loss {loss.item() / self.world:.4f}", flush=True)


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    mesh = init_device_mesh("cpu", (world,), mesh_dim_names=("dp",))
    trainer = Trainer(sharded(PolymerNet(), mesh), rank, world)
    trainer.fit(STEPS)
    if trainer.average is not None:
        folder = Path(os.environ.get("OUTPUT", tempfile.mkdtemp(prefix="polymers-")))
        torch.save(trainer.average.state_dict(), folder / "average.pt")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
