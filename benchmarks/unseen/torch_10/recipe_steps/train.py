"""Next-token model of recipes, each rank on the collection of one publisher."""

import itertools
import time
from dataclasses import dataclass

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from packing import VOCAB, Packer, RecipeStream


@dataclass
class Config:
    steps: int = 400
    warmup: int = 40
    batch_size: int = 12
    max_tokens: int = 640
    dim: int = 32
    lr: float = 2e-3
    log_every: int = 20


class RecipeModel(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, tokens):
        hidden, _ = self.rnn(self.embed(tokens))
        return self.head(hidden)


class Throughput:
    """Tokens per second of every rank."""

    def __init__(self):
        self.started = time.monotonic()
        self.counts = torch.zeros(dist.get_world_size())

    def update(self, tokens):
        parts = [torch.zeros(1) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, torch.tensor([float(tokens)]))
        self.counts += torch.cat(parts)

    def line(self):
        rates = self.counts / (time.monotonic() - self.started)
        return " ".join(f"{r:.0f}" for r in rates.tolist())


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        self.rank = dist.get_rank()
        torch.manual_seed(3)
        self.model = DistributedDataParallel(RecipeModel(cfg.dim))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=cfg.lr)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda s: min(1.0, (s + 1) / cfg.warmup))
        self.packer = Packer(cfg.max_tokens)
        self.throughput = Throughput()

    def train_step(self, recipes):
        self.optimizer.zero_grad()
        total = sum(len(r) - 1 for r in recipes)
        value = 0.0
        for tokens in self.packer(recipes):
            logits = self.model(tokens[:, :-1])
            loss = (
                F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=0, reduction="sum") / total
            )
            loss.backward()
            value += loss.item()
            time.sleep(0.008)
        self.optimizer.step()
        self.scheduler.step()
        self.throughput.update(total)
        return value

    def fit(self, stream):
        for step, recipes in enumerate(itertools.islice(stream, self.cfg.steps)):
            loss = self.train_step(recipes)
            if self.rank == 0 and step % self.cfg.log_every == 0:
                print(f"step {step} loss {loss:.3f} tokens/s {self.throughput.line()}", flush=True)


def main():
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    cfg = Config()
    trainer = Trainer(cfg)
    trainer.fit(RecipeStream(dist.get_rank(), cfg.batch_size))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
