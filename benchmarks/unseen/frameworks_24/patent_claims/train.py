"""Next words of patent claims with a small transformer under FSDP2."""

import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from windows import WindowedSteps

log = logging.getLogger("claims")
WORDS = 120
LENGTH = 32


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mix = nn.Linear(LENGTH, LENGTH)
        self.feed = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )

    def forward(self, x):
        x = x + self.mix(x.transpose(1, 2)).transpose(1, 2)
        return x + self.feed(x)


class ClaimModel(nn.Module):
    def __init__(self, width=48, depth=2):
        super().__init__()
        self.embed = nn.Embedding(WORDS, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.out = nn.Linear(width, WORDS)

    def forward(self, words):
        x = self.embed(words)
        for block in self.blocks:
            x = block(x)
        return self.out(x)


class Claims:
    """Claims cut to one length; the few that are shorter are padded and masked."""

    def __init__(self, office, count, batch, short=()):
        self.office, self.count, self.batch = office, count, batch
        self.short = dict(short)

    def __iter__(self):
        for number in range(self.count):
            g = torch.Generator().manual_seed(self.office * 10_000 + number)
            words = torch.randint(0, WORDS, (self.batch, LENGTH), generator=g)
            mask = torch.ones(self.batch, LENGTH, dtype=torch.bool)
            if number in self.short:
                mask[0, self.short[number] :] = False
            yield words, mask


def next_word_loss(model, words, mask):
    logits = model(words).flatten(0, 1)
    loss = nn.functional.cross_entropy(logits, words.roll(-1, 1).flatten(), reduction="none")
    return (loss * mask.flatten()).sum() / mask.sum()


def build(args, mesh):
    model = ClaimModel(args.width)
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batches", type=int, default=240)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=4 * 8 * LENGTH, help="tokens per step and process")
    parser.add_argument("--width", type=int, default=48)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    torch.set_num_threads(1)
    torch.manual_seed(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    model = build(args, init_device_mesh("cpu", (dist.get_world_size(),)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    steps = WindowedSteps(model, optimizer, args.tokens)
    short = {1: {102: 19}}.get(rank, {})
    for number, (words, mask) in enumerate(Claims(rank, args.batches, args.batch, short)):
        loss = steps.run(next_word_loss, words, mask)
        time.sleep(0.02)
        if rank == 0 and number % 40 == 0:
            log.info("batch %d, %d steps: %.3f", number, steps.steps, loss)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
