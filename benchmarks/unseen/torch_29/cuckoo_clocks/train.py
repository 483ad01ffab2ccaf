"""Autoencoder for the sound of cuckoo clocks: a clock that needs oil reconstructs badly.

Every rank has the recordings of one repair shop.
"""
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from feed import WINDOW, Feed

EPOCHS = 6
CLIPS = 320          # per shop and epoch
BATCH = 8


class Ear(nn.Module):
    def __init__(self, bins=WINDOW // 2 + 1, code=12):
        super().__init__()
        self.down = nn.Sequential(nn.Linear(bins, 48), nn.GELU(), nn.Linear(48, code))
        self.up = nn.Sequential(nn.Linear(code, 48), nn.GELU(), nn.Linear(48, bins))

    def forward(self, x):
        return self.up(self.down(x))


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(5)
    model = DDP(Ear())
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    feed = Feed(shop=rank, count=CLIPS, size=BATCH)

    for epoch in range(EPOCHS):
        total = torch.zeros(2)
        for x in feed.epoch(epoch):
            loss = nn.functional.mse_loss(model(x), x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += torch.tensor([loss.item(), 1.0])
        dist.all_reduce(total)
        if rank == 0:
            print(f"epoch {epoch}: error {total[0] / total[1]:.4f}", flush=True)

    feed.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
