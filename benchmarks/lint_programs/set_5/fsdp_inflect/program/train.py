import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader, DistributedSampler

from data import PAD, VOCAB, WIDTH, Inflections, collate
from decode import exact_match
from model import CharLM


def shard(model, mesh):
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--train", required=True)
    p.add_argument("--dev", required=True)
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--layers", type=int, default=4)
    p.add_argument("--lr", type=float, default=1e-3)
    args = p.parse_args()

    cuda = torch.cuda.is_available()
    local_rank = int(os.environ["LOCAL_RANK"])
    if cuda:
        torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")

    train_set = Inflections(args.train)
    sampler = DistributedSampler(train_set, shuffle=True, drop_last=True)
    train_loader = DataLoader(train_set, args.batch_size, sampler=sampler, collate_fn=collate, drop_last=True)
    dev_set = Inflections(args.dev, rank, world)
    # the ranks may hold one dev row more or less: cut to what all of them have
    rows = torch.tensor(len(dev_set), device=device)
    dist.all_reduce(rows, op=dist.ReduceOp.MIN)
    dev_loader = DataLoader(torch.utils.data.Subset(dev_set, range(int(rows))), args.batch_size, collate_fn=collate)

    torch.manual_seed(7)
    model = CharLM(VOCAB, layers=args.layers).to(device)
    model = shard(model, init_device_mesh(device.type, (world,)))
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for prompt, form in train_loader:
            prompt, form = prompt.to(device), form.to(device)
            logits = model(torch.cat([prompt, form[:, :-1]], 1))[:, WIDTH:]
            loss = F.cross_entropy(logits.flatten(0, 1), form.flatten(), ignore_index=PAD)
            opt.zero_grad()
            loss.backward()
            opt.step()
        acc = exact_match(model, dev_loader, device, max_new=WIDTH)
        if rank == 0:
            print(f"epoch {epoch} loss {loss.item():.3f} dev exact match {acc:.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
