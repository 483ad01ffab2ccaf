"""Self-distillation on unlabelled leaf crops.

    torchrun --nproc-per-node 8 main_dino.py --epochs 100
"""
import argparse
import math
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from dino import DINOLoss, Encoder, ema_update


class Leaves(Dataset):
    def __init__(self, n=128, size=32, crop=24):
        self.n, self.size, self.crop = n, size, crop

    def __len__(self):
        return self.n

    def _view(self, image):
        y, x = torch.randint(self.size - self.crop + 1, (2,)).tolist()
        view = image[:, y : y + self.crop, x : x + self.crop]
        if torch.rand(()) < 0.5:
            view = view.flip(-1)
        return view * (0.8 + 0.4 * torch.rand(3, 1, 1))

    def __getitem__(self, i):
        gen = torch.Generator().manual_seed(i)
        base = torch.rand(3, 4, 4, generator=gen)
        image = torch.nn.functional.interpolate(base[None], size=self.size, mode="bilinear")[0]
        return self._view(image), self._view(image)


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--momentum-teacher", type=float, default=0.99)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--output", default="dino.pt")
    return p.parse_args()


def fix_seeds(seed, rank):
    """Different views on every rank."""
    torch.manual_seed(seed + rank)


def build(args, device):
    student, teacher = Encoder().to(device), Encoder().to(device)
    teacher.load_state_dict(student.state_dict())
    student = DDP(student, device_ids=[device.index] if device.type == "cuda" else None)
    # the teacher gets no gradient, so there is nothing to wrap
    teacher.requires_grad_(False)
    teacher.eval()
    return student, teacher


def main():
    args = get_args()
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    fix_seeds(args.seed, rank)

    data = Leaves()
    sampler = DistributedSampler(data, shuffle=True, seed=args.seed)
    loader = DataLoader(data, args.batch_size, sampler=sampler, drop_last=True)
    student, teacher = build(args, device)
    criterion = DINOLoss().to(device)
    opt = torch.optim.AdamW(student.parameters(), lr=args.lr * args.batch_size * world / 256)

    total, it = args.epochs * len(loader), 0
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        meter = torch.zeros(2, device=device)
        for a, b in loader:
            a, b = a.to(device), b.to(device)
            with torch.no_grad():
                targets = teacher(torch.cat([a, b])).chunk(2)
            loss = criterion(student(torch.cat([a, b])).chunk(2), targets)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            m = 1 - (1 - args.momentum_teacher) * (math.cos(math.pi * it / total) + 1) / 2
            ema_update(teacher, student.module, m)
            meter += torch.stack([loss.detach(), torch.ones_like(loss.detach())])
            it += 1
        dist.all_reduce(meter)
        if rank == 0:
            print(f"epoch {epoch} loss {(meter[0] / meter[1]).item():.4f}", flush=True)
            torch.save(
                {"student": student.module.state_dict(), "teacher": teacher.state_dict(), "epoch": epoch},
                args.output,
            )
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
