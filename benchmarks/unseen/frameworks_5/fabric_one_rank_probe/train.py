"""Contrastive pretraining with Fabric; the first process fits a linear probe after each stage."""
import argparse
import time

import torch
import torch.nn.functional as F
from lightning.fabric import Fabric
from torch import nn


class Encoder(nn.Module):
    def __init__(self, width=20, code=8):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, code))

    def forward(self, x):
        return F.normalize(self.layers(x), dim=-1)


def views(generator, batch=12, width=20):
    base = torch.randn(batch, width, generator=generator)
    return [base + 0.1 * torch.randn(batch, width, generator=generator) for _ in range(2)]


def nt_xent(a, b, temperature=0.2):
    scores = a @ b.T / temperature
    return F.cross_entropy(scores, torch.arange(len(a)))


def probe(encoder, rounds=110):
    """A few hundred small least-squares fits over bootstraps of the labelled set."""
    g = torch.Generator().manual_seed(77)
    x = torch.randn(64, 20, generator=g)
    y = (x[:, :3].sum(1) > 0).float()
    was_training = encoder.training
    encoder.eval()
    scores = []
    with torch.no_grad():
        code = encoder(x)
        for _ in range(rounds):
            pick = torch.randint(0, 64, (64,), generator=g)
            w = torch.linalg.lstsq(code[pick], y[pick, None]).solution
            scores.append(((code @ w).squeeze() > 0.5).eq(y > 0.5).float().mean())
            time.sleep(0.1)
    encoder.train(was_training)
    return torch.stack(scores).mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stages", type=int, default=2)
    parser.add_argument("--steps", type=int, default=25)
    args = parser.parse_args()

    fabric = Fabric(accelerator="cpu", devices=2, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(3)
    encoder = Encoder()
    optimizer = torch.optim.Adam(encoder.parameters(), lr=2e-3)
    wrapped, optimizer = fabric.setup(encoder, optimizer)
    generator = torch.Generator().manual_seed(100 + fabric.global_rank)

    for stage in range(args.stages):
        for _ in range(args.steps):
            first, second = views(generator)
            codes = wrapped(torch.cat([first, second]))
            loss = nt_xent(*codes.chunk(2))
            fabric.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            time.sleep(0.02)
        if fabric.global_rank == 0:
            # the plain module: nothing here needs the other process
            accuracy = probe(encoder)
            print(f"stage {stage}: probe accuracy {accuracy:.3f}", flush=True)
        fabric.barrier()

    fabric.print("done")


if __name__ == "__main__":
    main()
