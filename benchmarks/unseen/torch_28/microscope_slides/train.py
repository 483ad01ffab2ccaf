"""Stain grading of slide tiles.    torchrun --standalone --nproc-per-node 3 train.py"""
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from feeder import Feeder
from slides import TileStore, scan


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(2)
    net = DDP(nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 4)))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    store = TileStore()

    with tempfile.TemporaryDirectory() as folder:
        feeder = Feeder(store, scan(Path(folder), rank))
        for epoch in range(2):
            seen = right = 0
            for tiles, grade in feeder:
                logits = net(tiles)
                loss = nn.functional.cross_entropy(logits, grade)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                seen += len(grade)
                right += int((logits.argmax(1) == grade).sum())
            score = torch.tensor([seen, right])
            dist.all_reduce(score)
            if rank == 0:
                print(f"epoch {epoch}: {score[1] / score[0]:.3f}", flush=True)
    print(f"[{rank}] {store.blank} tiles were blank", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
