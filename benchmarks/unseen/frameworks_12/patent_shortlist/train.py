"""Embeddings of patents with in-batch negatives over all processes, trained with Accelerate."""

import argparse
import time

import torch
from accelerate import Accelerator
from torch import nn
from torch.distributed.nn import all_gather
from torch.utils.data import DataLoader, TensorDataset

from shortlist import Shortlist


class Tower(nn.Module):
    def __init__(self, width, out=24):
        super().__init__()
        self.query = nn.Sequential(nn.Linear(width, 64), nn.GELU(), nn.Linear(64, out))
        self.patent = nn.Sequential(nn.Linear(width, 64), nn.GELU(), nn.Linear(64, out))
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, query, patent):
        q = nn.functional.normalize(self.query(query), dim=1)
        p = nn.functional.normalize(self.patent(patent), dim=1)
        return q, p, self.scale.exp()


def pairs(count, width):
    g = torch.Generator().manual_seed(1)
    topic = torch.randn(count, width, generator=g)
    return TensorDataset(
        topic + 0.4 * torch.randn(count, width, generator=g), topic + 0.4 * torch.randn(count, width, generator=g)
    )


class Trainer:
    def __init__(self, args):
        self.args = args
        self.accelerator = Accelerator(cpu=True)
        torch.manual_seed(args.seed)
        model = Tower(args.width)
        optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
        loader = DataLoader(pairs(args.pairs, args.width), args.batch, shuffle=True, drop_last=True)
        self.model, self.optimizer, self.loader = self.accelerator.prepare(model, optimizer, loader)
        self.shortlist = Shortlist(args.queries, args.depth)

    def loss(self, query, patent):
        q, p, scale = self.model(query, patent)
        everyone = torch.cat(all_gather(p))
        first = self.accelerator.process_index * len(q)
        return nn.functional.cross_entropy(scale * q @ everyone.T, torch.arange(first, first + len(q)))

    def run(self):
        for epoch in range(self.args.epochs):
            for query, patent in self.loader:
                loss = self.loss(query, patent)
                self.accelerator.backward(loss)
                self.accelerator.clip_grad_norm_(self.model.parameters(), 1.0)
                self.optimizer.step()
                self.optimizer.zero_grad()
                time.sleep(0.02)
            if self.accelerator.is_main_process:
                share = self.shortlist.judge(epoch)
                print(f"epoch {epoch}: loss {loss.item():.3f}, {share:.2f} found", flush=True)
            self.accelerator.wait_for_everyone()
        self.accelerator.end_training()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=960)
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--queries", type=int, default=80)
    parser.add_argument("--depth", type=int, default=8)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(1)
    Trainer(args).run()


if __name__ == "__main__":
    main()
