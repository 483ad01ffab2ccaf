"""Small character model with FSDP2:   torchrun --nproc-per-node 2 train.py --config lm.toml"""
import argparse
import os
import tomllib

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

from keeper import BestKeeper
from model import CharLM


def corpus(n, context, vocab, seed):
    """Sequences of a random order-1 chain."""
    gen = torch.Generator().manual_seed(seed)
    chain = torch.rand(vocab, vocab, generator=torch.Generator().manual_seed(0)) ** 3
    rows = [torch.randint(vocab, (n,), generator=gen)]
    for _ in range(context):
        rows.append(torch.multinomial(chain[rows[-1]], 1, generator=gen).squeeze(1))
    return TensorDataset(torch.stack(rows, dim=1))


def next_token_loss(model, tokens, reduction="mean"):
    logits = model(tokens[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten(), reduction=reduction)


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    sums = torch.zeros(2, dtype=torch.float64, device=device)
    for (tokens,) in loader:
        tokens = tokens.to(device)
        sums[0] += next_token_loss(model, tokens, reduction="sum")
        sums[1] += tokens[:, 1:].numel()
    dist.all_reduce(sums)
    return (sums[0] / sums[1]).item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--config", default="lm.toml")
    with open(p.parse_args().config, "rb") as f:
        cfg = tomllib.load(f)

    cuda = torch.cuda.is_available()
    local_rank = int(os.environ["LOCAL_RANK"])
    if cuda:
        torch.cuda.set_device(local_rank)
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    dist.init_process_group("cpu:gloo,cuda:nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh(device.type, (world,))
    torch.manual_seed(cfg["seed"])

    model = CharLM(cfg["vocab"], cfg["context"]).to(device)
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg["lr"])

    train_set = corpus(cfg["train_size"], cfg["context"], cfg["vocab"], seed=1)
    val_set = corpus(cfg["val_size"], cfg["context"], cfg["vocab"], seed=2)
    if cfg["val_size"] % world:
        raise ValueError("val_size has to be a multiple of the number of ranks")
    sampler = DistributedSampler(train_set, world, rank, shuffle=True, seed=cfg["seed"], drop_last=True)
    loader = DataLoader(train_set, batch_size=cfg["batch_size"], sampler=sampler, drop_last=True)
    val_loader = DataLoader(
        val_set, batch_size=cfg["batch_size"],
        sampler=DistributedSampler(val_set, world, rank, shuffle=False),
    )

    keeper = BestKeeper(cfg["best"])
    for epoch in range(cfg["epochs"]):
        sampler.set_epoch(epoch)
        model.train()
        for (tokens,) in loader:
            loss = next_token_loss(model, tokens.to(device))
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), cfg["clip"])
            optimizer.step()
        val_loss = evaluate(model, val_loader, device)
        if rank == 0:
            print(f"epoch {epoch} val loss {val_loss:.4f}", flush=True)
        if keeper.improved(val_loss):
            keeper.save(model, val_loss, epoch)
        if keeper.exhausted(epoch, cfg["patience"]):
            break
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
