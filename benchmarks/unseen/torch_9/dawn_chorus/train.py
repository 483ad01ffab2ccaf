import logging
import time
from collections import deque

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from recordings import Clips, RecordingSampler, catalogue

log = logging.getLogger("chorus")


class Stats:
    def __init__(self):
        self.recent = deque(maxlen=20)
        self.hits = self.seen = 0

    def update(self, loss, logits, target):
        self.recent.append(loss.item())
        self.hits += (logits.argmax(1) == target).sum().item()
        self.seen += target.numel()

    def everywhere(self):
        rows = [torch.zeros(3) for _ in range(dist.get_world_size())]
        dist.all_gather(rows, torch.tensor([sum(self.recent) / len(self.recent), self.hits, self.seen]))
        return torch.stack(rows)


def run_epoch(model, optimizer, loader):
    stats = Stats()
    for spectrum, species in loader:
        logits = model(spectrum)
        loss = nn.functional.cross_entropy(logits, species)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        stats.update(loss, logits, species)
        time.sleep(0.032)
    return stats


def main(epochs=6):
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING, format="%(asctime)s %(message)s")

    entries = catalogue()
    sampler = RecordingSampler(entries, rank, world)
    loader = DataLoader(Clips(entries), batch_size=4, sampler=sampler, num_workers=1)

    torch.manual_seed(21)
    net = nn.Sequential(nn.Linear(32, 40), nn.LayerNorm(40), nn.SiLU(), nn.Linear(40, 8))
    model = DistributedDataParallel(net)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        rows = run_epoch(model, optimizer, loader).everywhere()
        log.info(
            "epoch %d: %d clips, loss %.3f, accuracy %.3f",
            epoch,
            int(rows[:, 2].sum()),
            rows[:, 0].mean(),
            rows[:, 1].sum() / rows[:, 2].sum(),
        )
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
