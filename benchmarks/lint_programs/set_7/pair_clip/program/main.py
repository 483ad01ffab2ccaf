import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

from loss import ClipLoss
from model import DualEncoder, PairDataset


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--weight-decay", type=float, default=0.01)
    p.add_argument("--train-size", type=int, default=2048)
    p.add_argument("--val-size", type=int, default=200)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--output", default="clip.pt")
    return p.parse_args()


@torch.no_grad()
def recall_at_1(model, dataset, rank, world_size, device):
    model.eval()
    mine = torch.arange(len(dataset)).tensor_split(world_size)[rank]
    images, texts, _ = model(dataset.images[mine].to(device), dataset.texts[mine].to(device))
    parts = [None] * world_size
    dist.all_gather_object(parts, (images.cpu(), texts.cpu()))
    model.train()
    images = torch.cat([p[0] for p in parts])
    texts = torch.cat([p[1] for p in parts])
    best = (images @ texts.t()).argmax(1)
    return (best == torch.arange(len(dataset))).float().mean().item()


def main():
    args = parse_args()
    local_rank = int(os.environ["LOCAL_RANK"])
    use_cuda = torch.cuda.is_available()
    if use_cuda:
        torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl" if use_cuda else "gloo")
    rank, world_size = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", local_rank) if use_cuda else torch.device("cpu")
    torch.manual_seed(args.seed)

    train_set = PairDataset(args.train_size, seed=1)
    val_set = PairDataset(args.val_size, seed=2)
    sampler = DistributedSampler(train_set, shuffle=True, seed=args.seed)
    loader = DataLoader(train_set, args.batch_size, sampler=sampler, drop_last=True)

    model = DualEncoder().to(device)
    ddp = DDP(model, device_ids=[local_rank] if use_cuda else None)
    criterion = ClipLoss(world_size)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=args.weight_decay)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        total = torch.zeros((), device=device)
        for images, texts in loader:
            loss = criterion(*ddp(images.to(device), texts.to(device)))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            total += loss.detach()
        dist.all_reduce(total)
        r1 = recall_at_1(model, val_set, rank, world_size, device)
        if rank == 0:
            print(f"epoch {epoch} loss {total.item() / world_size / len(loader):.4f} R@1 {r1:.3f}")

    if rank == 0:
        torch.save(model.state_dict(), args.output)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
