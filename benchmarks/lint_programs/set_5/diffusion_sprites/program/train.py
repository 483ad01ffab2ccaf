"""Unconditional DDPM on 16x16 sprites.

    accelerate launch --multi_gpu --num_processes 4 train.py --sprites sprites.npy
"""
import argparse
import math

import numpy as np
import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset

from schedule import cosine_alphas, cosine_with_warmup
from unet import SpriteUNet


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--sprites", default="sprites.npy", help="(N, 16, 16, 3) uint8")
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--grad-accum", type=int, default=2)
    p.add_argument("--epochs", type=int, default=100)
    p.add_argument("--lr", type=float, default=3e-4)
    p.add_argument("--warmup-ratio", type=float, default=0.05)
    p.add_argument("--width", type=int, default=64)
    p.add_argument("--out", default="sprite-ddpm")
    return p.parse_args()


class Run:
    def __init__(self, args):
        self.args = args
        self.accelerator = Accelerator(gradient_accumulation_steps=args.grad_accum)
        set_seed(9, device_specific=True)
        sprites = torch.from_numpy(np.load(args.sprites)).permute(0, 3, 1, 2)
        loader = DataLoader(TensorDataset(sprites), args.batch_size, shuffle=True, drop_last=True, num_workers=2)
        model = SpriteUNet(args.width)
        optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
        self.model, self.optimizer, self.loader = self.accelerator.prepare(model, optimizer, loader)
        self.scheduler = self.build_scheduler()
        self.alphas = cosine_alphas().to(self.accelerator.device)

    def build_scheduler(self):
        steps_per_epoch = math.ceil(len(self.loader) / self.args.grad_accum)
        total = steps_per_epoch * self.args.epochs
        scheduler = cosine_with_warmup(self.optimizer, int(self.args.warmup_ratio * total), total)
        return self.accelerator.prepare(scheduler)

    def loss(self, x):
        x = x.float() / 127.5 - 1
        t = torch.randint(len(self.alphas), (len(x),), device=x.device)
        a = self.alphas[t].view(-1, 1, 1, 1)
        noise = torch.randn_like(x)
        return F.mse_loss(self.model(a.sqrt() * x + (1 - a).sqrt() * noise, t), noise)

    def fit(self):
        acc = self.accelerator
        for epoch in range(self.args.epochs):
            losses = []
            for (x,) in self.loader:
                with acc.accumulate(self.model):
                    loss = self.loss(x)
                    acc.backward(loss)
                    if acc.sync_gradients:
                        acc.clip_grad_norm_(self.model.parameters(), 1.0)
                    self.optimizer.step()
                    self.scheduler.step()
                    self.optimizer.zero_grad()
                losses.append(loss.detach())
            mean = acc.reduce(torch.stack(losses).mean(), reduction="mean")
            acc.print(f"epoch {epoch} loss {mean.item():.4f} lr {self.scheduler.get_last_lr()[0]:.2e}")
        acc.wait_for_everyone()
        acc.save_model(self.model, self.args.out)
        acc.end_training()


if __name__ == "__main__":
    Run(parse_args()).fit()
