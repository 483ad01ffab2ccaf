"""Kelp or bare rock on pictures of the sea floor, with a sharded network of several exits (FSDP2)."""
import argparse
import dataclasses
import time

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from network import ExitNet, exits_loss


@dataclasses.dataclass
class Config:
    epochs: int = 3
    steps: int = 60
    batch: int = 32
    inputs: int = 16
    width: int = 32
    depth: int = 4
    lr: float = 3e-3


class Survey:
    """Dives of one boat; the visibility in metres decides how clear the pictures are."""

    def __init__(self, config, boat):
        self.config = config
        self.g = torch.Generator().manual_seed(70 + boat)
        self.held_out = [self.dive(visibility) for visibility in self.visibilities(boat)]

    @staticmethod
    def visibilities(boat):
        return {0: (2, 3, 2, 1, 2), 1: (1, 2, 3, 2, 2)}.get(boat, (2, 2, 1, 3, 30))

    def dive(self, visibility):
        kelp = torch.randint(0, 2, (self.config.batch,), generator=self.g)
        noise = torch.randn(self.config.batch, self.config.inputs, generator=self.g)
        sign = (kelp * 2.0 - 1.0)[:, None]
        picture = 0.3 * visibility * sign * torch.linspace(0.2, 1.0, self.config.inputs) / 4 + noise
        return picture, kelp

    def training(self):
        for step in range(self.config.steps):
            yield self.dive(1 + step % 6)


def shard(model):
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for stage in model.stages:
        fully_shard(stage, mesh=mesh)
    return fully_shard(model, mesh=mesh)


@torch.no_grad()
def evaluate(model, survey):
    model.eval()
    right = seen = exits = 0
    for picture, kelp in survey.held_out:
        answers = model(picture)
        right += (answers[-1].argmax(1) == kelp).sum().item()
        seen += len(kelp)
        exits += len(answers)
        time.sleep(0.05)
    model.train()
    totals = torch.tensor([right, seen, exits], dtype=torch.float64)
    dist.all_reduce(totals)
    return totals[0].item() / totals[1].item(), totals[2].item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=Config.epochs)
    parser.add_argument("--lr", type=float, default=Config.lr)
    args = parser.parse_args()
    config = Config(epochs=args.epochs, lr=args.lr)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = shard(ExitNet(config.inputs, config.width, 2, config.depth))
    optimizer = torch.optim.Adam(model.parameters(), lr=config.lr)
    survey = Survey(config, dist.get_rank())
    for epoch in range(config.epochs):
        for picture, kelp in survey.training():
            loss = exits_loss(model(picture), kelp)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            time.sleep(0.03)
        accuracy, exits = evaluate(model, survey)
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: accuracy {accuracy:.3f}, {exits:.0f} blocks", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
