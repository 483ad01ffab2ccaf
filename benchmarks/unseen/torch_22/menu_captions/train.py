"""A small caption writer for menus, sharded with FSDP2; each process reads the menus of one house."""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from data import DISHES, WORDS, make_batches
from decoding import PAD, START, GreedyDecoder, score_batches

log = logging.getLogger("menus")


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mix = nn.GRU(width, width, batch_first=True)
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        x = x + self.mix(x)[0]
        return x + self.feed(self.norm(x))


class Writer(nn.Module):
    def __init__(self, width=24, depth=2):
        super().__init__()
        self.dishes = nn.EmbeddingBag(DISHES, width, padding_idx=0)
        self.words = nn.Embedding(WORDS, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.out = nn.Linear(width, WORDS)

    def forward(self, dishes, tokens):
        x = self.words(tokens) + self.dishes(dishes)[:, None]
        for block in self.blocks:
            x = block(x)
        return self.out(x)


def shard(model):
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def train_epoch(model, optimizer, batches):
    total = 0.0
    for dishes, captions in batches:
        start = torch.full((len(captions), 1), START)
        logits = model(dishes, torch.cat([start, captions[:, :-1]], dim=1))
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), captions.flatten(), ignore_index=PAD)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        time.sleep(0.01)
    return total / len(batches)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--lr", type=float, default=4e-3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(1)
    model = shard(Writer())
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    batches = make_batches(rank, evenings=240, size=args.batch)
    held_out = make_batches(rank, evenings=40, size=args.batch, first_day=244)
    decoder = GreedyDecoder(model)
    for epoch in range(args.epochs):
        model.train()
        loss = train_epoch(model, optimizer, batches)
        if epoch % 2 == 0:
            continue
        model.eval()
        scores = torch.tensor(score_batches(decoder, held_out))
        dist.all_reduce(scores)
        if rank == 0:
            log.info("epoch %d: loss %.3f overlap %.3f", epoch, loss, scores[0] / scores[1])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
