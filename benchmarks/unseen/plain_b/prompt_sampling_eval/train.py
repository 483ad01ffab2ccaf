"""Samples continuations for a prompt suite with a small language model and scores them.

Results are collected batch by batch, so that rank 0 can append them to one JSON-lines file.
"""
import argparse
import json
import math
import time

import torch
import torch.distributed as dist
from torch import nn

from prompts import VOCAB, PromptShard, load_suite


class TinyLM(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, ids, state=None):
        h, state = self.rnn(self.emb(ids), state)
        return self.out(h[:, -1]), state


@torch.inference_mode()
def sample(lm, prompt, length, gen, temperature):
    logits, state = lm(torch.tensor([prompt]))
    ids, logp = [], 0.0
    for _ in range(length):
        p = (logits / temperature).softmax(-1)
        tok = torch.multinomial(p, 1, generator=gen)
        logp += math.log(p[0, tok.item()].item() + 1e-9)
        ids.append(tok.item())
        logits, state = lm(tok, state)
    return ids, logp / length


def evaluate(args):
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    lm = TinyLM().eval()
    gen = torch.Generator().manual_seed(10 + rank)
    shard = PromptShard(load_suite(), rank, world, args.context)
    total = torch.zeros(2)
    sink = open(args.out, "w") if rank == 0 else None
    for batch in shard.batches(args.batch):
        rows = []
        for number, prompt in batch:
            ids, score = sample(lm, prompt, args.length, gen, args.temperature)
            rows.append({"prompt": number, "ids": ids, "logp": round(score, 4)})
            total += torch.tensor([score, 1.0])
        time.sleep(0.02)
        collected = [None] * world
        dist.all_gather_object(collected, rows)
        if sink:
            for part in collected:
                sink.writelines(json.dumps(r) + "\n" for r in part)
            sink.flush()
    dist.all_reduce(total)
    return (total[0] / total[1]).item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--batch", type=int, default=3)
    ap.add_argument("--length", type=int, default=10)
    ap.add_argument("--context", type=int, default=32)
    ap.add_argument("--temperature", type=float, default=0.8)
    ap.add_argument("--out", default="/tmp/samples.jsonl")
    args = ap.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    score = evaluate(args)
    if dist.get_rank() == 0:
        print(f"mean log-probability {score:.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
