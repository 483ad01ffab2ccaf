"""Pretraining loop for a small decoder, trimmed from an internal fork."""
import argparse
import os
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from reporting import TrainingLog, print_rank_last


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--train-iters", type=int, default=48)
    p.add_argument("--log-interval", type=int, default=4)
    p.add_argument("--timing-interval", type=int, default=24)
    p.add_argument("--seq-length", type=int, default=16)
    p.add_argument("--micro-batch-size", type=int, default=4)
    p.add_argument("--hidden-size", type=int, default=32)
    p.add_argument("--vocab-size", type=int, default=64)
    return p.parse_args()


class Decoder(nn.Module):
    def __init__(self, args):
        super().__init__()
        h = args.hidden_size
        self.wte = nn.Embedding(args.vocab_size, h)
        self.mix = nn.GRU(h, h, batch_first=True)
        self.ln_f = nn.LayerNorm(h)
        self.lm_head = nn.Linear(h, args.vocab_size, bias=False)

    def forward(self, ids):
        x, _ = self.mix(self.wte(ids))
        return self.lm_head(self.ln_f(x))


def data_iterator(args, seed):
    g = torch.Generator().manual_seed(seed)
    while True:
        yield torch.randint(0, args.vocab_size, (args.micro_batch_size, args.seq_length + 1), generator=g)


def train_step(model, opt, tokens, timers):
    t0 = time.perf_counter()
    logits = model(tokens[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    timers.add("forward", time.perf_counter() - t0)
    t0 = time.perf_counter()
    opt.zero_grad(set_to_none=True)
    loss.backward()
    timers.add("backward", time.perf_counter() - t0)
    opt.step()
    return loss.detach()


def main():
    args = get_args()
    dist.init_process_group("gloo")
    torch.manual_seed(1234)
    torch.set_num_threads(1)
    model = DDP(Decoder(args))
    opt = torch.optim.AdamW(model.parameters(), lr=3e-4)
    batches = data_iterator(args, 100 + dist.get_rank())
    log = TrainingLog(args)
    print_rank_last(f"parameters: {sum(p.numel() for p in model.parameters())}")

    for iteration in range(1, args.train_iters + 1):
        loss = train_step(model, opt, next(batches), log.timers)
        log.update(iteration, loss)
        time.sleep(0.02)

    dist.barrier()
    print_rank_last("training done")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
