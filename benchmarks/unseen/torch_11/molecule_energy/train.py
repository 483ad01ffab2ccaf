"""Energy of small molecules from pair distances, with a sharded message passing network."""

import argparse
import logging
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from checkpoint import Checkpointer


class Molecules(Dataset):
    def __init__(self, count, atoms):
        g = torch.Generator().manual_seed(5)
        self.places = torch.randn(count, atoms, 3, generator=g)
        self.kinds = torch.randint(0, 5, (count, atoms), generator=g)

    def __len__(self):
        return len(self.places)

    def __getitem__(self, index):
        distances = torch.cdist(self.places[index], self.places[index])
        energy = torch.exp(-distances).sum() / 10
        return self.kinds[index], distances, energy


class Interaction(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.message = nn.Linear(width, width)
        self.update = nn.Sequential(nn.Linear(2 * width, width), nn.SiLU())

    def forward(self, atoms, weights):
        gathered = weights @ self.message(atoms)
        return atoms + self.update(torch.cat([atoms, gathered], dim=-1))


class EnergyNet(nn.Module):
    def __init__(self, width, layers):
        super().__init__()
        self.embed = nn.Embedding(5, width)
        self.layers = nn.ModuleList(Interaction(width) for _ in range(layers))
        self.out = nn.Linear(width, 1)

    def forward(self, kinds, distances):
        weights = torch.exp(-distances)
        atoms = self.embed(kinds)
        for layer in self.layers:
            atoms = layer(atoms, weights)
        return self.out(atoms).sum(dim=(1, 2))


def build(args, mesh):
    torch.manual_seed(0)
    model = EnergyNet(args.width, args.layers)
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model


def train(args, folder):
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    model = build(args, mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    data = Molecules(args.molecules, args.atoms)
    sampler = DistributedSampler(data, drop_last=True)
    loader = DataLoader(data, batch_size=args.batch, sampler=sampler, drop_last=True)
    checkpoints = Checkpointer(folder, every=args.save_every)
    step = 0
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for kinds, distances, energy in loader:
            loss = nn.functional.mse_loss(model(kinds, distances), energy)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            step += 1
            if step % 20 == 0:
                logging.info("step %d loss %.4f", step, loss.item())
            if checkpoints.due(step):
                checkpoints.save(step, model)
            time.sleep(0.01)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--molecules", type=int, default=640)
    parser.add_argument("--atoms", type=int, default=12)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--save-every", type=int, default=60)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    with tempfile.TemporaryDirectory() as folder:
        train(args, folder)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
