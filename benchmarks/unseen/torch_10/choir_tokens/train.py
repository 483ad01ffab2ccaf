"""Small decoder on tokens of four-part choral music, sharded with FSDP2."""

import argparse
import logging
import tempfile
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from export import BestExport

log = logging.getLogger("choir")


class Chorales(Dataset):
    def __init__(self, n, length, vocab, seed):
        g = torch.Generator().manual_seed(seed)
        start = torch.randint(vocab, (n, 1), generator=g)
        step = torch.randint(1, 5, (n, 1), generator=g)
        self.tokens = (start + step * torch.arange(length)) % vocab

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, i):
        return self.tokens[i]


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.attention = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.mlp = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        n = x.shape[1]
        mask = torch.triu(torch.ones(n, n, dtype=torch.bool), 1)
        h = self.norm(x)
        x = x + self.attention(h, h, h, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(x)


class Decoder(nn.Module):
    def __init__(self, vocab, dim, depth):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList(Block(dim) for _ in range(depth))
        self.head = nn.Linear(dim, vocab)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def loss_of(model, tokens):
    return F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())


@torch.no_grad()
def validate(model, loader):
    model.eval()
    losses = torch.stack([loss_of(model, tokens) for tokens in loader])
    model.train()
    mean = losses.mean()
    dist.all_reduce(mean)
    return mean.item() / dist.get_world_size()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--vocab", type=int, default=48)
    p.add_argument("--dim", type=int, default=32)
    p.add_argument("--depth", type=int, default=2)
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--lr", type=float, default=3e-3)
    args = p.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))

    torch.manual_seed(5)
    model = Decoder(args.vocab, args.dim, args.depth)
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)

    train_set, test_set = Chorales(512, 24, args.vocab, 1), Chorales(128, 24, args.vocab, 2)
    sampler = DistributedSampler(train_set, drop_last=True)
    loader = DataLoader(train_set, args.batch_size, sampler=sampler)
    test_loader = DataLoader(test_set, args.batch_size, sampler=DistributedSampler(test_set, shuffle=False))

    with tempfile.TemporaryDirectory() as folder:
        export = BestExport(folder, rank)
        for epoch in range(args.epochs):
            sampler.set_epoch(epoch)
            for tokens in loader:
                optimizer.zero_grad()
                loss_of(model, tokens).backward()
                optimizer.step()
                time.sleep(0.03)
            loss = validate(model, test_loader)
            if rank == 0:
                log.info("epoch %d validation %.4f", epoch, loss)
            export.offer(model, loss)
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
