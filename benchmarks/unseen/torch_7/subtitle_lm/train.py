import os
import time
from types import SimpleNamespace

import torch
import torch.distributed as dist
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from accumulate import TokenBudget

cfg = SimpleNamespace(vocab=64, width=24, micros=72, target=400, report=16)


def lines(language, micro):
    """Four subtitles of 25 tokens; the silent film at the end of language 0 has shorter ones."""
    length = 15 if language == 0 and micro > 36 else 25
    g = torch.Generator().manual_seed(micro * 31 + language)
    return torch.randint(cfg.vocab, (4, length), generator=g)


class TinyLM(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = torch.nn.Embedding(cfg.vocab, cfg.width)
        self.mix = torch.nn.LSTM(cfg.width, cfg.width, batch_first=True)
        self.head = torch.nn.Linear(cfg.width, cfg.vocab)

    def forward(self, ids):
        return self.head(self.mix(self.tok(ids))[0])


dist.init_process_group("gloo")
language = dist.get_rank()
torch.manual_seed(0)
lm = DDP(TinyLM())
opt = torch.optim.AdamW(lm.parameters(), lr=1e-3, foreach=False)
budget = TokenBudget(lm, cfg.target)
history = []

for micro in range(1, cfg.micros + 1):
    ids = lines(language, micro)
    with budget.take(ids.numel()).scope:
        logits = lm(ids[:, :-1])
        nll = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        (nll / 4).backward()
    history.append(nll.item())
    time.sleep(0.015)
    if budget.full:
        opt.step()
        opt.zero_grad()
    if micro % cfg.report == 0:
        mine = torch.tensor(history[-cfg.report:]).mean().reshape(1)
        means = [torch.zeros(1) for _ in range(dist.get_world_size())]
        dist.all_gather(means, mine)
        if language == 0:
            print(f"{micro:3d}", *(f"{m.item():.3f}" for m in means), flush=True)

dist.barrier()
dist.destroy_process_group()
