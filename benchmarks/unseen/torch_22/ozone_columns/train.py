"""Total ozone from ultraviolet spectra, with a network that is sharded over the processes (FSDP2)."""
import argparse
import time
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from diary import Diary


@dataclass
class Config:
    steps: int = 400
    batch: int = 32
    channels: int = 24
    width: int = 48
    lr: float = 2e-3
    report_every: int = 30
    details_every: int = 120


class Spectra:
    """Spectra of one station: attenuated by ozone, with the noise of the instrument."""

    def __init__(self, config, station):
        self.config = config
        self.generator = torch.Generator().manual_seed(300 + station)
        wavelengths = torch.linspace(0.0, 1.0, config.channels)
        self.cross_section = torch.exp(-3 * wavelengths) * (1 + 0.2 * torch.sin(20 * wavelengths))

    def batch(self):
        column = 2.2 + 2.0 * torch.rand(self.config.batch, 1, generator=self.generator)
        airmass = 1.0 + torch.rand(self.config.batch, 1, generator=self.generator)
        light = torch.exp(-self.cross_section * column * airmass)
        noise = 0.01 * torch.randn(light.shape, generator=self.generator)
        return torch.cat([light + noise, airmass], dim=1), column[:, 0] - 3.2


class Layer(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)
        self.norm = nn.LayerNorm(outputs)

    def forward(self, x):
        return nn.functional.silu(self.norm(self.linear(x)))


class Retrieval:
    def __init__(self, config):
        self.config = config
        mesh = init_device_mesh("cpu", (dist.get_world_size(),))
        torch.manual_seed(11)
        self.model = nn.Sequential(
            Layer(config.channels + 1, config.width), Layer(config.width, config.width), nn.Linear(config.width, 1)
        )
        for layer in self.model[:2]:
            fully_shard(layer, mesh=mesh)
        fully_shard(self.model, mesh=mesh)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=config.lr)
        self.spectra = Spectra(config, dist.get_rank())
        self.diary = Diary(self.model, self.optimizer)

    def train_step(self):
        x, column = self.spectra.batch()
        loss = nn.functional.mse_loss(self.model(x)[:, 0], column)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        time.sleep(0.02)
        return loss.detach()

    def report(self, step, loss):
        self.diary.write(step, detailed=step % self.config.details_every == 0, own_loss=loss.item())
        mean = loss.clone()
        dist.all_reduce(mean)
        if dist.get_rank() == 0:
            print(f"step {step}: mse {mean.item() / dist.get_world_size():.4f}", flush=True)

    def run(self):
        for step in range(1, self.config.steps + 1):
            loss = self.train_step()
            if step % self.config.report_every == 0:
                self.report(step, loss)
        self.diary.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=Config.steps)
    parser.add_argument("--lr", type=float, default=Config.lr)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    Retrieval(Config(steps=args.steps, lr=args.lr)).run()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
