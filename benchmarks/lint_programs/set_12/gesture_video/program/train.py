import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

from scaler import LossScaler
from sharded_adam import ShardedAdam


class GestureNet(nn.Module):
    def __init__(self, gestures, width):
        super().__init__()
        self.stem = nn.Conv3d(1, width, 3, stride=2, padding=1)
        self.mix = nn.Conv3d(width, width, 3, padding=1)
        self.head = nn.Linear(width, gestures)

    def forward(self, x):
        x = F.relu(self.stem(x))
        x = F.relu(self.mix(x)).mean(dim=(2, 3, 4))
        return self.head(x)


def gestures(n, classes, seed):
    gen = torch.Generator().manual_seed(seed)
    label = torch.randint(classes, (n,), generator=gen)
    base = 10 * torch.randn(classes, 1, 4, 8, 8, generator=gen)
    return TensorDataset(base[label] + torch.randn(n, 1, 4, 8, 8, generator=gen), label)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--clips", type=int, default=256)
    p.add_argument("--classes", type=int, default=6)
    p.add_argument("--width", type=int, default=8)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--init-scale", type=float, default=2.0 ** 24)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--out", default="gesture.pt")
    args = p.parse_args()

    local_rank = int(os.environ["LOCAL_RANK"])
    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(local_rank)
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(args.seed)  # same weights on all ranks

    data = gestures(args.clips, args.classes, seed=5)
    sampler = DistributedSampler(data, world, rank, shuffle=True, seed=args.seed, drop_last=True)
    loader = DataLoader(data, batch_size=args.batch_size, sampler=sampler, drop_last=True)
    model = GestureNet(args.classes, args.width).to(device)
    scaler = LossScaler(init_scale=args.init_scale)
    optimizer = ShardedAdam(model.parameters(), scaler, lr=args.lr)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        total = torch.zeros(2, device=device)
        for clip, label in loader:
            clip, label = clip.to(device), label.to(device)
            loss = F.cross_entropy(model(clip), label)
            optimizer.zero_grad()
            scaler.scale_loss(loss).backward()
            optimizer.step()
            total[0] += loss.detach()
            total[1] += 1
        dist.all_reduce(total)
        if rank == 0:
            print(f"epoch {epoch} loss {(total[0] / total[1]).item():.4f} "
                  f"scale {scaler.scale:.0f} skipped {optimizer.skipped}", flush=True)
    if rank == 0:
        torch.save(model.state_dict(), args.out)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
