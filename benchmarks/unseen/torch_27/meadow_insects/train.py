"""Insects of three meadows, one light trap (and one field station) per rank."""
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from species import SpeciesTable
from traps import TrapPhotos

EPOCHS = 5


class InsectNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.head = nn.Linear(8 * 12, 6)

    def forward(self, x):
        x = torch.relu(self.conv(x)).mean(-1)          # insects sit in rows
        return self.head(x.flatten(1))


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = DDP(InsectNet())
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    table = SpeciesTable(station=rank)
    photos = TrapPhotos(table, seed=rank)
    # two workers; the photos are decoded faster than we train
    loader = DataLoader(photos, batch_size=8, num_workers=2, shuffle=True, multiprocessing_context="fork")

    for epoch in range(EPOCHS):
        table.refresh_in_background(epoch)
        dist.barrier()
        total = 0.0
        for images, kinds in loader:
            loss = nn.functional.cross_entropy(model(images), kinds)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        if rank == 0:
            print(f"epoch {epoch}: {total / len(loader):.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
