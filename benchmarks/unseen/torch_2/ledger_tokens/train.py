"""Fine-tunes a tiny language model on bookkeeping entries with DeepSpeed, steps of about 200 tokens."""
import argparse
import logging
import os
import time

os.environ.setdefault("DS_ACCELERATOR", "cpu")

import deepspeed
import torch
import torch.distributed as dist
from torch import nn

from accumulate import AccumulatingEngine

DS_CONFIG = {
    "train_micro_batch_size_per_gpu": 4,
    "gradient_accumulation_steps": 5,
    "zero_optimization": {"stage": 0},
    "steps_per_print": 10_000,
}
VOCAB = 80


class LedgerLM(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, VOCAB)

    def forward(self, tokens, labels):
        h, _ = self.rnn(self.embed(tokens))
        return nn.functional.cross_entropy(self.out(h).flatten(0, 1), labels.flatten())


def entries(ledger):
    """Ledger 0 switches to the annual statements after the monthly ones, which are longer."""
    gen = torch.Generator().manual_seed(ledger)
    k = 0
    while True:
        length = 17 if ledger == 0 and k >= 25 else 11
        text = torch.randint(VOCAB, (4, length), generator=gen)
        yield text[:, :-1].contiguous(), text[:, 1:].contiguous()
        k += 1


def mean_loss(loss):
    parts = [torch.zeros_like(loss) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, loss)
    return torch.stack(parts).mean()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--micro-steps", type=int, default=180)
    ap.add_argument("--log-every", type=int, default=12)
    ap.add_argument("--local_rank", type=int, default=0)
    args = ap.parse_args()
    logging.getLogger("DeepSpeed").setLevel(logging.WARNING)
    torch.set_num_threads(1)
    deepspeed.init_distributed(dist_backend="gloo", verbose=False)
    torch.manual_seed(4)
    net = LedgerLM()
    engine, *_ = deepspeed.initialize(
        model=net, optimizer=torch.optim.SGD(net.parameters(), lr=0.2), config=DS_CONFIG
    )
    trainer = AccumulatingEngine(engine, limit=200)
    rank = dist.get_rank()
    for k, (tokens, labels) in zip(range(1, args.micro_steps + 1), entries(rank)):
        loss = trainer.micro_step(tokens, labels)
        time.sleep(0.03)
        if k % args.log_every == 0:
            value = mean_loss(loss)
            if rank == 0:
                print(f"micro-step {k} windows {trainer.window.windows} loss {value:.3f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
