"""Taste and aroma of tea from what the laboratory measures: a network for each, trained side by side."""

import time
from dataclasses import dataclass

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader

from panel import CUPS, MEASURES, Tastings


@dataclass
class TeaConfig:
    sessions: int = 1900
    winter: tuple = (593,)
    width: int = 24
    lr: float = 0.03
    momentum: float = 0.8
    log_every: int = 50


def score_network(width):
    return nn.Sequential(nn.Linear(MEASURES, width), nn.Tanh(), nn.Linear(width, 1), nn.Flatten(0))


def update(accelerator, network, optimizer, infusion, score):
    """One step of one network."""
    loss = nn.functional.mse_loss(network(infusion), score)
    optimizer.zero_grad()
    accelerator.backward(loss)
    optimizer.step()
    return loss.item()


def train(accelerator, config, nets, optimizers, loader):
    started = time.monotonic()
    losses = {"taste": [], "aroma": []}
    for number, (infusion, taste, aroma) in enumerate(loader):
        losses["taste"].append(update(accelerator, nets["taste"], optimizers["taste"], infusion, taste))
        if number % config.log_every == 0:
            seconds = time.monotonic() - started
            recent = {name: sum(v[-20:]) / max(1, len(v[-20:])) for name, v in losses.items()}
            accelerator.print(f"{seconds:5.1f} s, session {number}: {recent}", flush=True)
        smelt = ~aroma.isnan()
        if not smelt.any():
            continue
        aroma_loss = update(accelerator, nets["aroma"], optimizers["aroma"], infusion[smelt], aroma[smelt])
        losses["aroma"].append(aroma_loss)
    return losses


def main():
    torch.set_num_threads(1)
    config = TeaConfig()
    accelerator = Accelerator(cpu=True)
    set_seed(4)
    loader = DataLoader(Tastings(config.sessions, config.winter), batch_size=CUPS, shuffle=False)
    loader = accelerator.prepare(loader)
    nets, optimizers = {}, {}
    for name in ("taste", "aroma"):
        net = score_network(config.width)
        optimizer = torch.optim.SGD(net.parameters(), lr=config.lr, momentum=config.momentum)
        nets[name], optimizers[name] = accelerator.prepare(net, optimizer)
    losses = train(accelerator, config, nets, optimizers, loader)
    accelerator.wait_for_everyone()
    accelerator.print(f"last losses: {losses['taste'][-1]:.3f}, {losses['aroma'][-1]:.3f}", flush=True)
    accelerator.end_training()


if __name__ == "__main__":
    main()
