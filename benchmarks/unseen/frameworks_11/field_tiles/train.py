"""Crop types from satellite tiles that are staged from the archive, with torchdata's StatefulDataLoader and DDP."""
import os
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DistributedSampler
from torchdata.stateful_dataloader import StatefulDataLoader

from staging import Stager, StagedTiles

TILES = 640


class CropNet(nn.Module):
    def __init__(self, bands: int = 6, crops: int = 8):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(bands, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1), nn.ReLU()
        )
        self.crop = nn.Linear(32, crops)

    def forward(self, tile):
        return self.crop(self.body(tile).mean(dim=(2, 3)))


def shared_folder() -> Path:
    folder = [tempfile.mkdtemp(prefix="tiles-") if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(folder, src=0)
    return Path(folder[0])


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    folder = shared_folder()
    if int(os.environ["LOCAL_RANK"]) == 0:
        Stager(folder, TILES).start()
    tiles = StagedTiles(folder, TILES)
    sampler = DistributedSampler(tiles, shuffle=False)
    loader = StatefulDataLoader(tiles, batch_size=4, sampler=sampler, num_workers=1, prefetch_factor=2)
    torch.manual_seed(0)
    model = DistributedDataParallel(CropNet())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for step, (tile, crop) in enumerate(loader):
            loss = nn.functional.cross_entropy(model(tile), crop)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            if step % 20 == 0 and rank == 0:
                torch.save({"loader": loader.state_dict(), "epoch": epoch}, folder / "position.pt")
                print(f"epoch {epoch} step {step}: {loss.item():.3f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
