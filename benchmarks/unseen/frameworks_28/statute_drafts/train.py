"""Next-word model of statute drafts, FSDP2 on four CPU ranks.

    torchrun --nproc-per-node 4 train.py
"""
import tempfile

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from drafts import WORDS, batches
from journal import Journal

STEPS = 150


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, 2, batch_first=True)
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x, mask):
        y = self.norm(x)
        x = x + self.attention(y, y, y, attn_mask=mask, need_weights=False)[0]
        return x + self.feed(x)


class Clerk(nn.Module):
    def __init__(self, width=32, depth=2):
        super().__init__()
        self.embed = nn.Embedding(WORDS, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.out = nn.Linear(width, WORDS)

    def forward(self, tokens):
        length = tokens.shape[1]
        mask = torch.full((length, length), float("-inf")).triu(1)
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x, mask)
        return self.out(x)


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(21)
    mesh = init_device_mesh("cpu", (world,))
    model = Clerk()
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(folder, writes=rank == 0, deep_every=30)
        for step, tokens in enumerate(batches(rank, STEPS), start=1):
            scores = model(tokens[:, :-1])
            loss = nn.functional.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            journal.note(step, model, loss=loss.item())
            if step % 10 == 0:
                # good enough is decided by the mean, so all ranks stop at the same step
                mean = loss.detach().clone()
                dist.all_reduce(mean)
                if mean.item() / world < 0.3:
                    break
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
