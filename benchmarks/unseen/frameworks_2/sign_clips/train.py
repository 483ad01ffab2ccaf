"""Sign-language clips from tar shards (WebDataset), which a stage-in step copies to each node."""
import io
import os
import time

import torch
import torch.distributed as dist
import webdataset as wds
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

import stagein

SIGNS = 12


def to_clip(sample):
    pose = torch.load(io.BytesIO(sample["pose.pt"]))
    return pose, int(sample["cls"])


def clip_loader(shards, batch_size):
    data = wds.WebDataset(shards, shardshuffle=False, nodesplitter=lambda urls: urls).map(to_clip)
    return DataLoader(data.batched(batch_size, partial=False), batch_size=None, num_workers=1, prefetch_factor=2)


class SignNet(nn.Module):
    def __init__(self, joints=21, hidden=24):
        super().__init__()
        self.joints = nn.Linear(joints * 2, hidden)
        self.time = nn.GRU(hidden, hidden, batch_first=True)
        self.sign = nn.Linear(hidden, SIGNS)

    def forward(self, pose):
        return self.sign(self.time(torch.relu(self.joints(pose.flatten(2))))[1][0])


def train_one_epoch(model, loader, optimizer, rank):
    model.train()
    clock = time.perf_counter()
    for number, (pose, sign) in enumerate(loader):
        pose, sign = torch.as_tensor(pose), torch.as_tensor(sign)
        loss = nn.functional.cross_entropy(model(pose), sign)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.02)
        if rank == 0 and number % 10 == 0:
            print(f"batch {number} loss {loss.item():.3f} ({time.perf_counter() - clock:.1f} s)", flush=True)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    scratch = os.path.join(os.environ.get("SCRATCH", "/tmp"), "sign_clips", f"node{rank}")
    shards = stagein.stage(scratch, node=rank, shards=5, signs=SIGNS)
    dist.barrier()
    torch.manual_seed(6)
    model = DDP(SignNet())
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    loader = clip_loader(shards, batch_size=8)
    for _ in range(2):
        train_one_epoch(model, loader, optimizer, rank)
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
