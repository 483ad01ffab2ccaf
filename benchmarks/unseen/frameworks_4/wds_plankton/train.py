"""Plankton imager: taxa from the tar shards of the last cruises."""
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from shards import plankton_loader, shared_shards

log = logging.getLogger("plankton")


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.dw = nn.Conv2d(c, c, 3, padding=1, groups=c)
        self.pw = nn.Conv2d(c, c, 1)
        self.norm = nn.GroupNorm(2, c)

    def forward(self, x):
        return x + self.pw(torch.relu(self.norm(self.dw(x))))


def classifier(c=8, taxa=4):
    return nn.Sequential(nn.Conv2d(1, c, 3), Block(c), Block(c), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(c, taxa))


def train_epoch(model, opt, loader):
    n = correct = 0
    for image, taxon in loader:
        logits = model(image)
        loss = nn.functional.cross_entropy(logits, taxon)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        n += len(taxon)
        correct += int((logits.argmax(1) == taxon).sum())
        time.sleep(0.03)
    return n, correct


def global_accuracy(n, correct):
    counts = [None] * dist.get_world_size()
    dist.all_gather_object(counts, (n, correct))
    seen, hits = map(sum, zip(*counts))
    return hits / seen


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    dist.init_process_group("gloo")
    urls = shared_shards()
    model = DDP(classifier())
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(4):
        n, correct = train_epoch(model, opt, plankton_loader(urls, batch_size=4))
        acc = global_accuracy(n, correct)
        if dist.get_rank() == 0:
            log.info("epoch %d accuracy %.3f", epoch, acc)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
