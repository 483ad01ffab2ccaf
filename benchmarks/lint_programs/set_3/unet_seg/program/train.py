import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from unet import UNet


class Cells(Dataset):
    def __init__(self, n, size=32):
        self.n = n
        yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
        self.grid = torch.stack([yy, xx]).float()
        self.size = size

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        c = torch.rand(2, 1, 1, generator=g) * self.size
        r = 3 + 6 * torch.rand(1, generator=g)
        mask = (((self.grid - c) ** 2).sum(0) < r ** 2).float()[None]
        return mask + 0.4 * torch.randn(mask.shape, generator=g), mask


def save(path, net, opt, sched, epoch):
    tmp = path + ".tmp"
    torch.save({"net": net.module.state_dict(), "opt": opt.state_dict(), "sched": sched.state_dict(),
                "epoch": epoch}, tmp)
    os.replace(tmp, path)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--samples", type=int, default=2000)
    ap.add_argument("--epochs", type=int, default=40)
    ap.add_argument("--batch-size", type=int, default=8)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--ckpt", default="cells.pt")
    ap.add_argument("--resume", action="store_true")
    args = ap.parse_args()

    cuda = torch.cuda.is_available()
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if cuda else "gloo")
    rank = dist.get_rank()

    torch.manual_seed(0)
    net = UNet().to(device)
    opt = torch.optim.AdamW(net.parameters(), lr=args.lr, weight_decay=0.05)
    sched = torch.optim.lr_scheduler.StepLR(opt, 10, 0.5)

    start = torch.zeros(1, dtype=torch.long, device=device)
    if args.resume and rank == 0 and os.path.exists(args.ckpt):
        # scratch is node local, only the first node is sure to have the file
        ckpt = torch.load(args.ckpt, map_location=device)
        net.load_state_dict(ckpt["net"])
        opt.load_state_dict(ckpt["opt"])
        sched.load_state_dict(ckpt["sched"])
        start += ckpt["epoch"] + 1
    dist.broadcast(start, src=0)

    # the DDP constructor sends rank 0's weights to everybody
    net = DDP(net, device_ids=[local_rank] if cuda else None)
    data = Cells(args.samples)
    sampler = DistributedSampler(data, seed=0)
    loader = DataLoader(data, args.batch_size, sampler=sampler, drop_last=True)

    for epoch in range(int(start), args.epochs):
        sampler.set_epoch(epoch)
        tot = torch.zeros(2, device=device)
        for img, mask in loader:
            img, mask = img.to(device), mask.to(device)
            loss = F.binary_cross_entropy_with_logits(net(img), mask)
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += torch.stack([loss.detach(), torch.ones_like(loss)])
        sched.step()
        dist.all_reduce(tot)
        if rank == 0:
            print(f"epoch {epoch} bce {(tot[0] / tot[1]).item():.4f} lr {sched.get_last_lr()[0]:.2e}", flush=True)
            save(args.ckpt, net, opt, sched, epoch)

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
