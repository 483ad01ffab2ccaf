import argparse
import json
from pathlib import Path

import torch
import torch.distributed as dist
from PIL import Image
from torch import nn, optim
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler, Subset
from torchvision.models import resnet34
from torchvision.transforms import functional as TF

import comm


class Faces(Dataset):
    """annotations.json: [{"file": ..., "points": [[x, y] * 68], "box": [l, t, w, h]}, ...]"""

    def __init__(self, root, split, size=192):
        self.root = Path(root) / split
        self.rows = json.loads((self.root / "annotations.json").read_text())
        self.size = size

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        row = self.rows[i]
        left, top, w, h = row["box"]
        img = Image.open(self.root / row["file"]).convert("RGB")
        img = TF.resized_crop(img, top, left, h, w, [self.size, self.size])
        x = TF.normalize(TF.to_tensor(img), [0.5] * 3, [0.25] * 3)
        pts = torch.tensor(row["points"], dtype=torch.float32)
        pts = (pts - torch.tensor([left, top])) / torch.tensor([w, h]) * 2 - 1
        return x, pts


class Regressor(nn.Module):
    def __init__(self, points):
        super().__init__()
        self.net = resnet34(num_classes=2 * points)

    def forward(self, x):
        return self.net(x).unflatten(1, (-1, 2))


def wing(pred, gt, w=0.2, eps=0.05):
    d = (pred - gt).abs()
    c = w - w * torch.log(torch.tensor(1 + w / eps, device=pred.device))
    return torch.where(d < w, w * torch.log1p(d / eps), d - c).mean()


def fit_epoch(model, batches, opt, device):
    model.train()
    seen = total = 0.0
    for x, pts in batches:
        x, pts = x.to(device, non_blocking=True), pts.to(device, non_blocking=True)
        loss = wing(model(x), pts)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(x)
        seen += len(x)
    total, seen = comm.sum_over_ranks(total, seen, device=device)
    return total / seen


@torch.no_grad()
def nme(net, batches, device):
    """Mean point distance in units of the box."""
    net.eval()
    seen = total = 0.0
    for x, pts in batches:
        dist_ = (net(x.to(device)) - pts.to(device)).norm(dim=-1).mean(1) / 2
        total += dist_.sum().item()
        seen += len(x)
    total, seen = comm.sum_over_ranks(total, seen, device=device)
    return total / seen


def build_model(args, device):
    net = Regressor(args.points)
    if args.bn_group > 1:
        net = nn.SyncBatchNorm.convert_sync_batchnorm(net, process_group=comm.bn_group(args.bn_group))
    net.to(device)
    return net, DistributedDataParallel(net, device_ids=[device.index])


def main(args, device):
    rank, world = dist.get_rank(), dist.get_world_size()
    train_set, test_set = Faces(args.data, "train"), Faces(args.data, "test")
    sampler = DistributedSampler(train_set, num_replicas=world, rank=rank)
    train = DataLoader(train_set, args.batch, sampler=sampler, num_workers=args.workers, drop_last=True,
                       pin_memory=True)
    test = DataLoader(Subset(test_set, range(rank, len(test_set), world)), 64, num_workers=args.workers)

    net, model = build_model(args, device)
    opt = optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    sched = optim.lr_scheduler.MultiStepLR(opt, [int(args.epochs * f) for f in (0.6, 0.85)])

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        loss = fit_epoch(model, train, opt, device)
        sched.step()
        score = nme(net, test, device)
        if comm.is_chief():
            print(f"{epoch:03d}  loss {loss:.4f}  NME {100 * score:.2f}", flush=True)
            torch.save({"net": net.state_dict(), "epoch": epoch, "nme": score}, args.save)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--save", default="landmarks.pt")
    parser.add_argument("--points", type=int, default=68)
    parser.add_argument("--batch", type=int, default=12, help="per GPU")
    parser.add_argument("--bn-group", type=int, default=2, help="ranks sharing batch-norm statistics, 1: off")
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--workers", type=int, default=6)
    cli = parser.parse_args()
    with comm.distributed() as dev:
        main(cli, dev)
