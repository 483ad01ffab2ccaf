"""Denoising autoencoder for thermal images; hooks are registered by event name."""
import argparse
import time
from collections import defaultdict

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

import hooks


class ConvAE(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, c, 3, 2, 1), nn.BatchNorm2d(c), nn.ReLU())
        self.mid = nn.Sequential(nn.Conv2d(c, c, 3, 1, 1), nn.BatchNorm2d(c), nn.ReLU())
        self.dec = nn.ConvTranspose2d(c, 1, 4, 2, 1)

    def forward(self, x):
        return self.dec(self.mid(self.enc(x)))


class Engine:
    def __init__(self, args):
        self.args = args
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.model = DDP(ConvAE())
        self.opt = torch.optim.Adam(self.model.parameters(), args.lr)
        self.events = defaultdict(list)
        self.step = 0
        self.loss = None

    def on(self, event, hook):
        self.events[event].append(hook)
        return self

    def emit(self, event):
        for hook in self.events[event]:
            hook(self)

    def batch(self):
        g = torch.Generator().manual_seed(self.step * self.world + self.rank)
        clean = torch.rand(6, 1, 16, 16, generator=g)
        return clean + 0.1 * torch.randn(clean.shape, generator=g), clean

    def run(self):
        self.model.train()
        while self.step < self.args.steps:
            noisy, clean = self.batch()
            self.loss = nn.functional.l1_loss(self.model(noisy), clean)
            self.opt.zero_grad()
            self.loss.backward()
            self.opt.step()
            self.step += 1
            time.sleep(0.02)
            self.emit("step")
        dist.barrier()
        self.emit("end")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=75)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--preview-every", type=int, default=30)
    ap.add_argument("--save-every", type=int, default=25)
    args = ap.parse_args()

    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    engine = Engine(args)
    # spread the side work: rank 0 saves, rank 1 draws
    if engine.rank == 0:
        engine.on("step", hooks.Progress(10)).on("step", hooks.Saver(args.save_every))
    elif engine.rank == 1:
        engine.on("step", hooks.Preview(args.preview_every))
    engine.run()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
