"""Shapes of gravitational lenses; the learning rate of every weight follows the moments of its gradient."""

import time
from dataclasses import dataclass

import torch
from accelerate import Accelerator
from torch import nn
from torch.nn.utils import parameters_to_vector
from torch.utils.data import DataLoader, Dataset

from moments import Moments


@dataclass
class Config:
    stamps: int = 12_000
    pixels: int = 49
    batch: int = 8
    every: int = 4
    draw_every: int = 20
    lr: float = 0.02


class Stamps(Dataset):
    def __init__(self, config):
        self.config = config

    def __len__(self):
        return self.config.stamps

    def __getitem__(self, index):
        time.sleep(0.003 if index % 2 else 0.0045)
        generator = torch.Generator().manual_seed(index)
        shape = torch.randn(2, generator=generator)
        axis = torch.linspace(-1, 1, self.config.pixels)
        return (axis * shape[0]).sin() + (3 * axis * shape[1]).cos(), shape


def scale_gradients(model, scale):
    offset = 0
    for p in model.parameters():
        p.grad.mul_(scale[offset : offset + p.numel()].view_as(p))
        offset += p.numel()


def main():
    torch.set_num_threads(1)
    config = Config()
    accelerator = Accelerator(cpu=True)
    torch.manual_seed(9)
    network = nn.Sequential(nn.Linear(config.pixels, 32), nn.Tanh(), nn.Linear(32, 2))
    optimizer = torch.optim.SGD(network.parameters(), lr=config.lr)
    loader = DataLoader(Stamps(config), batch_size=config.batch, shuffle=True, drop_last=True)
    model, optimizer, loader = accelerator.prepare(network, optimizer, loader)
    moments = Moments(accelerator, config.draw_every)

    scale, average = None, None
    for step, (stamp, shape) in enumerate(loader):
        loss = nn.functional.mse_loss(model(stamp), shape)
        accelerator.backward(loss)
        if step % config.every == 0:
            gradient = parameters_to_vector([p.grad for p in network.parameters()])
            mean = moments.ask(gradient)
            scale = 1 / (mean.sqrt() / mean.sqrt().mean() + 0.5)
        scale_gradients(network, scale)
        optimizer.step()
        optimizer.zero_grad()
        average = loss.item() if average is None else 0.98 * average + 0.02 * loss.item()
        if step % 100 == 0:
            accelerator.print(f"step {step}: {average:.3f}", flush=True)
    moments.close()
    accelerator.wait_for_everyone()
    accelerator.end_training()


if __name__ == "__main__":
    main()
