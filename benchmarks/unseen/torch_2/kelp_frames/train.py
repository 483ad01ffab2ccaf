"""Segmentation of kelp forests from drone frames; the frames are read in small pieces from a slow volume."""
import argparse
import io
import os
import pathlib
import random
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler


def retry(times, wait):
    def wrap(fn):
        def inner(*args, **kwargs):
            for k in range(times):
                try:
                    return fn(*args, **kwargs)
                except OSError as err:
                    if k == times - 1:
                        raise
                    print(f"{fn.__name__}: {err}, again in {wait} s", flush=True)
                    time.sleep(wait)
        return inner
    return wrap


class DroneFrames(Dataset):
    def __init__(self, folder, count, slow_index):
        self.folder, self.count, self.slow_index = folder, count, slow_index
        self.remounted = {}

    def __len__(self):
        return self.count

    @retry(times=8, wait=1.5)
    def _open(self, i):
        seen = self.remounted.get(i, 0)
        self.remounted[i] = seen + 1
        if i == self.slow_index and seen < 5:
            raise OSError(116, "Stale file handle")
        return open(self.folder / f"{i % 8}.pt", "rb")

    def __getitem__(self, i):
        out = io.BytesIO()
        with self._open(i) as f:
            while piece := f.read(1024):
                out.write(piece)
                time.sleep(0.01)
        out.seek(0)
        d = torch.load(out)
        return d["frame"], d["mask"]


def make_volume(folder):
    g = torch.Generator().manual_seed(5)
    for i in range(8):
        frame = torch.randn(3, 24, 24, generator=g)
        torch.save({"frame": frame, "mask": (frame.sum(0, keepdim=True) > 0).float()}, folder / f"{i}.pt")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=3)
    args = ap.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    box = [tempfile.mkdtemp(prefix="kelp-") if rank == 0 else None]
    dist.broadcast_object_list(box, src=0)
    folder = pathlib.Path(box[0])
    if rank == 0:
        make_volume(folder)
    dist.barrier()

    data = DroneFrames(folder, 160, slow_index=33)
    sampler = DistributedSampler(data, shuffle=False)
    loader = DataLoader(data, batch_size=4, sampler=sampler, num_workers=2, prefetch_factor=2)
    net = DistributedDataParallel(nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.ReLU(), nn.Conv2d(6, 1, 1)))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    random.seed(rank)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        began = time.time()
        for frame, mask in loader:
            loss = nn.functional.binary_cross_entropy_with_logits(net(frame), mask)
            opt.zero_grad()
            loss.backward()
            opt.step()
        if rank == 0:
            print(f"epoch {epoch} bce {loss.item():.3f} in {time.time() - began:.1f} s", flush=True)
    dist.barrier()
    if rank == 0:
        for f in os.listdir(folder):
            os.remove(folder / f)
        os.rmdir(folder)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
