"""Road segmentation on 512x512 aerial tiles (npz files with 'img' and 'mask')."""
import argparse
import glob
import os

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from unet import UNet


class Tiles(Dataset):
    def __init__(self, folder):
        self.files = sorted(glob.glob(os.path.join(folder, "*.npz")))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        z = np.load(self.files[i])
        img = torch.from_numpy(z["img"]).permute(2, 0, 1).float().div_(255)
        return img, torch.from_numpy(z["mask"]).long()


@torch.no_grad()
def iou(net, files, rank, world, device):
    net.eval()
    inter_union = torch.zeros(2, dtype=torch.float64, device=device)
    for i in range(rank, len(files), world):
        img, mask = files[i]
        pred = net(img[None].to(device)).argmax(1)[0].bool()
        mask = mask.to(device).bool()
        inter_union[0] += (pred & mask).sum()
        inter_union[1] += (pred | mask).sum()
    dist.all_reduce(inter_union)
    return (inter_union[0] / inter_union[1].clamp(min=1)).item()


def average_checkpoints(paths):
    avg = None
    for p in paths:
        sd = torch.load(p, map_location="cpu")
        if avg is None:
            avg = {k: v.double() for k, v in sd.items()}
        else:
            for k, v in sd.items():
                avg[k] += v.double()
    return {k: (v / len(paths)).float() for k, v in avg.items()}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--tiles", required=True)
    ap.add_argument("--workdir", required=True)
    ap.add_argument("--epochs", type=int, default=40)
    ap.add_argument("--bs", type=int, default=8)
    ap.add_argument("--lr", type=float, default=3e-4)
    ap.add_argument("--keep", type=int, default=5, help="average this many last checkpoints")
    args = ap.parse_args()

    dist.init_process_group("nccl")
    rank, world = dist.get_rank(), dist.get_world_size()
    gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    device = torch.device("cuda", gpu)
    os.makedirs(args.workdir, exist_ok=True)

    train_ds = Tiles(os.path.join(args.tiles, "train"))
    test_ds = Tiles(os.path.join(args.tiles, "test"))
    sampler = DistributedSampler(train_ds)
    loader = DataLoader(train_ds, args.bs, sampler=sampler, num_workers=8, drop_last=True)

    net = UNet().to(device)
    ddp = DDP(net, device_ids=[gpu])
    opt = torch.optim.AdamW(ddp.parameters(), args.lr)

    saved = []
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        ddp.train()
        for img, mask in loader:
            loss = F.cross_entropy(ddp(img.to(device)), mask.to(device))
            opt.zero_grad()
            loss.backward()
            opt.step()
        if rank == 0:
            print(f"epoch {epoch} loss {loss.item():.4f}", flush=True)
            path = os.path.join(args.workdir, f"ep{epoch:03d}.pt")
            torch.save(net.state_dict(), path)
            saved.append(path)

    final = os.path.join(args.workdir, "averaged.pt")
    if rank == 0:
        torch.save(average_checkpoints(saved[-args.keep:]), final)
    net.load_state_dict(torch.load(final, map_location=device))
    score = iou(net, test_ds, rank, world, device)
    if rank == 0:
        print(f"test IoU of averaged model: {score:.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
