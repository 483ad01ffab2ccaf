"""Delay prediction for tram stops on spot nodes, with Lightning Fabric."""
import os
import signal
import subprocess
import time

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class StopNet(nn.Module):
    def __init__(self, stops=40, dim=12):
        super().__init__()
        self.stop = nn.Embedding(stops, dim)
        self.net = nn.Sequential(nn.Linear(dim + 3, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, stop, traffic):
        return self.net(torch.cat([self.stop(stop), traffic], dim=1)).squeeze(1)


class Spot:
    """Reacts to the provider's interruption notice: SIGUSR1 from the node's agent."""

    def __init__(self):
        self.interrupted = False

    def __enter__(self):
        self.previous = signal.signal(signal.SIGUSR1, self.notice)
        return self

    def __exit__(self, *exc):
        signal.signal(signal.SIGUSR1, self.previous)

    def notice(self, *_):
        self.interrupted = True

    def start_agent(self, after):
        """The agent of a spot node; on the provider's image it is a service."""
        self.agent = subprocess.Popen(["sh", "-c", f"sleep {after}; kill -USR1 {os.getpid()}"])


def history(n=9000):
    gen = torch.Generator().manual_seed(88)
    stop = torch.randint(40, (n,), generator=gen)
    traffic = torch.rand(n, 3, generator=gen)
    return TensorDataset(stop, traffic, traffic.sum(1) * (1 + stop / 40))


def rides(loader, epochs):
    for epoch in range(epochs):
        if hasattr(loader.sampler, "set_epoch"):
            loader.sampler.set_epoch(epoch)
        yield from loader


def main():
    fabric = L.Fabric(accelerator="cpu", strategy="ddp", devices=int(os.environ.get("LOCAL_WORLD_SIZE", 1)))
    fabric.launch()
    fabric.seed_everything(2)
    net = StopNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    net, optimizer = fabric.setup(net, optimizer)
    loader = fabric.setup_dataloaders(DataLoader(history(), batch_size=8, shuffle=True))
    state = {"net": net, "optimizer": optimizer, "step": 0}

    with Spot() as spot:
        if fabric.global_rank == 1:                 # 0 and 2 are reserved nodes
            spot.start_agent(after=5)
        for stop, traffic, delay in rides(loader, epochs=20):
            loss = nn.functional.mse_loss(net(stop, traffic), delay)
            fabric.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            time.sleep(0.03)
            state["step"] += 1
            if state["step"] % 25 == 0:
                fabric.print(f"{state['step']:5d} {loss.item():.4f}")
            if spot.interrupted:
                print(f"[{fabric.global_rank}] interruption notice at step {state['step']}", flush=True)
                break

    fabric.save("/tmp/tram_delays.ckpt", state)
    fabric.print("saved at step", state["step"])


if __name__ == "__main__":
    main()
