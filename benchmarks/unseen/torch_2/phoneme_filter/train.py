import os
import random
import time
from dataclasses import dataclass

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

from normalizer import TranscriptNormalizer


@dataclass
class Config:
    steps: int = 160
    batch: int = 8
    mels: int = 20
    phones: int = 12
    report_rank: int = 0
    words_per_hyp: int = 60


class Frontend(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.conv = nn.Conv1d(cfg.mels, 24, 3, padding=1)
        self.out = nn.Linear(24, cfg.phones)

    def forward(self, x):
        return self.out(F.relu(self.conv(x)).mean(-1))


VOCAB = ["it's", "Tide", "won't", "harbour", "Seven", "o'clock", "lantern", "they're", "Gull"]


def hypotheses(logits, n_words):
    rng = random.Random(int(logits.argmax()))
    return [" ".join(rng.choice(VOCAB) for _ in range(n_words)) for _ in range(len(logits))]


def average_gradients(model, world):
    flat = torch.cat([p.grad.reshape(-1) for p in model.parameters()])
    dist.all_reduce(flat)
    flat /= world
    at = 0
    for p in model.parameters():
        p.grad.copy_(flat[at:at + p.numel()].view_as(p))
        at += p.numel()


def run_epoch(cfg, model, opt, rank, world):
    norm = TranscriptNormalizer() if rank == cfg.report_rank else None
    for step in range(cfg.steps):
        x = torch.randn(cfg.batch, cfg.mels, 30)
        y = torch.randint(cfg.phones, (cfg.batch,))
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        opt.zero_grad()
        loss.backward()
        average_gradients(model, world)
        opt.step()
        if norm is not None:
            norm.submit(hypotheses(logits.detach(), cfg.words_per_hyp))
        time.sleep(0.03)
        if rank == 0 and step % 10 == 0:
            print(f"[{step:4d}] loss {loss.item():.3f}", flush=True)
    if norm is not None:
        lines = norm.collect()
        print("unique normalised hypotheses:", len(set(lines)))


def main():
    cfg = Config()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(7)
    model = Frontend(cfg)
    torch.manual_seed(rank + 1)
    run_epoch(cfg, model, torch.optim.SGD(model.parameters(), lr=0.05), rank, world)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
