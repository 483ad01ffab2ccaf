# Instruction finetuning of a toy LM. Micro-batches are accumulated until the
# token budget of an update is filled; gradients are reduced on the last one.
import argparse
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

IGNORE = -100


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--micro-batch", type=int, default=4)
    p.add_argument("--seq-len", type=int, default=64)
    p.add_argument("--token-budget", type=int, default=1000)
    p.add_argument("--updates", type=int, default=60)
    p.add_argument("--vocab", type=int, default=128)
    return p.parse_args()


class Layer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.ln = nn.LayerNorm(d)
        self.attn = nn.MultiheadAttention(d, 4, batch_first=True)
        self.ff = nn.Linear(d, d)

    def forward(self, x):
        n = self.ln(x)
        a, _ = self.attn(n, n, n, need_weights=False)
        return x + a + torch.tanh(self.ff(x))


class LM(nn.Module):
    def __init__(self, vocab, d=32, depth=2):
        super().__init__()
        self.wte = nn.Embedding(vocab, d)
        self.h = nn.ModuleList([Layer(d) for _ in range(depth)])
        self.lm_head = nn.Linear(d, vocab, bias=False)

    def forward(self, ids):
        x = self.wte(ids)
        for layer in self.h:
            x = layer(x)
        return self.lm_head(x)


def answers(args, rank):
    """Packed conversations; the prompt part of a conversation is not a target."""
    g = torch.Generator().manual_seed(rank)
    n = 0
    while True:
        ids = torch.randint(0, args.vocab, (args.micro_batch, args.seq_len), generator=g)
        labels = (ids + 1) % args.vocab
        if rank == 1 and n % 90 == 46:
            labels[0, : args.seq_len - 6] = IGNORE  # a long prompt with a short answer
        n += 1
        yield ids, labels


def main():
    args = parse()
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    mesh = init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("dp",))
    torch.manual_seed(0)
    model = LM(args.vocab)
    for layer in model.h:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optim = torch.optim.AdamW(model.parameters(), lr=1e-3)

    data = answers(args, rank)
    for update in range(args.updates):
        tokens = 0
        while tokens < args.token_budget:
            ids, labels = next(data)
            tokens += int((labels != IGNORE).sum())
            model.set_requires_gradient_sync(tokens >= args.token_budget)
            logits = model(ids)
            loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORE)
            loss.backward()
            time.sleep(0.01)
        optim.step()
        optim.zero_grad()
        if update % 5 == 0:
            print(f"rank {rank} update {update} loss {loss.item():.3f} tokens {tokens}", flush=True)

    dist.destroy_process_group()


if __name__ == "__main__":
    main()
