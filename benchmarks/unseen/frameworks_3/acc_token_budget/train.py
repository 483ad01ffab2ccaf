#!/usr/bin/env python
"""SFT on packed windows; an optimizer update is made per ~2000 answer tokens."""
import argparse
import contextlib
import random
import time
from dataclasses import dataclass, field

import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator

IGNORE = -100


@dataclass
class Source:
    name: str
    prompt_share: float          # part of a window that is instruction and hence masked
    vocab: int = 200


SOURCES = [Source("wiki_qa", 0.198), Source("code_review", 0.366), Source("forum", 0.198)]


@dataclass
class Config:
    window: int = 640
    micro_steps: int = 160
    tokens_per_update: int = 2000
    log_every: int = 10
    lr: float = 1e-3
    seed: int = 1234
    tags: list = field(default_factory=lambda: ["sft", "packed"])


class PackedWindows:
    def __init__(self, source, cfg, seed):
        self.source, self.cfg, self.rng = source, cfg, random.Random(seed)
        self.gen = torch.Generator().manual_seed(seed)

    def __iter__(self):
        while True:
            ids = torch.randint(0, self.source.vocab, (1, self.cfg.window), generator=self.gen)
            labels = ids.clone()
            masked = int(self.source.prompt_share * self.cfg.window) - self.rng.randint(0, 6)
            at = self.rng.randint(0, self.cfg.window - masked - 1)
            labels[:, at:at + masked] = IGNORE
            yield {"input_ids": ids, "labels": labels}


class TinyLM(nn.Module):
    def __init__(self, vocab=200, d=48):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.mix = nn.Conv1d(d, d, 5, padding=4)
        self.ff = nn.Sequential(nn.Linear(d, 2 * d), nn.SiLU(), nn.Linear(2 * d, vocab))

    def forward(self, input_ids, labels):
        h = self.mix(self.emb(input_ids).transpose(1, 2))[..., : input_ids.size(1)].transpose(1, 2)
        logits = self.ff(h)
        return F.cross_entropy(logits[:, :-1].reshape(-1, logits.size(-1)), labels[:, 1:].reshape(-1),
                               ignore_index=IGNORE, reduction="sum")


class TokenBudget:
    """Counts answer tokens and tells when enough of them are in for an update."""

    def __init__(self, accelerator, model, budget):
        self.accelerator, self.model, self.budget = accelerator, model, budget
        self.tokens = 0

    @contextlib.contextmanager
    def accumulate(self, batch):
        self.tokens += int((batch["labels"] != IGNORE).sum())
        if self.full:
            yield self
        else:
            with self.accelerator.no_sync(self.model):
                yield self

    @property
    def full(self):
        return self.tokens >= self.budget

    def reset(self):
        self.tokens = 0


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--micro_steps", type=int, default=Config.micro_steps)
    cfg = Config(micro_steps=p.parse_args().micro_steps)
    acc = Accelerator(cpu=True)
    torch.manual_seed(cfg.seed)
    model = TinyLM()
    model, opt = acc.prepare(model, torch.optim.AdamW(model.parameters(), lr=cfg.lr))
    stream = iter(PackedWindows(SOURCES[acc.process_index % 3], cfg, cfg.seed + acc.process_index))
    budget = TokenBudget(acc, model, cfg.tokens_per_update)
    updates = 0
    for micro in range(1, cfg.micro_steps + 1):
        batch = next(stream)
        with budget.accumulate(batch):
            loss = model(**batch) / cfg.tokens_per_update
            acc.backward(loss)
        time.sleep(0.02)
        if budget.full:
            opt.step()
            opt.zero_grad()
            updates += 1
            budget.reset()
        if micro % cfg.log_every == 0:
            every = acc.gather(loss.detach().reshape(1))
            acc.print(f"micro {micro} updates {updates} loss {every.mean():.4f}", flush=True)
    acc.wait_for_everyone()
    acc.print(f"trained {updates} updates")
    acc.end_training()


if __name__ == "__main__":
    main()
