"""Finds caries in scans of teeth; the encoder is trained beforehand, on the scans alone."""
import argparse
import logging
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from network import Segmenter
from pretrain import pretrain

log = logging.getLogger("train")


def practice(number, count, length):
    """Scans of a practice; the device of the second one smooths them itself."""
    g = torch.Generator().manual_seed(20 + number)
    position = torch.linspace(0, 1, length)
    phase = torch.rand(count, 1, 1, generator=g)
    if number == 1:
        scans = 0.2 * torch.sin(2 * torch.pi * (position + phase))
    else:
        scans = torch.randn(count, 1, length, generator=g) * 3
    labels = (scans[:, 0] > scans.std() * 0.8).long()
    return scans, labels


class Run:
    def __init__(self, args, folder):
        self.args = args
        self.folder = folder
        self.rank = dist.get_rank()
        self.scans, self.labels = practice(self.rank, args.scans, args.length)

    def prepare(self):
        path = self.folder / f"encoder_{self.rank}.pt"
        encoder = pretrain(self.scans, self.args.width, self.args.pretrain, 1000, self.args.pause)
        if encoder is not None:
            torch.save(encoder.state_dict(), path)
        dist.barrier()
        return path

    def build(self, path):
        torch.manual_seed(0)
        net = Segmenter(self.args.width, classes=2)
        net.warm_start(path)
        self.model = DDP(net)
        trainable = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.SGD(trainable, lr=0.05, momentum=0.9)

    def fit(self):
        g = torch.Generator().manual_seed(self.rank)
        for step in range(self.args.steps):
            pick = torch.randint(0, len(self.scans), (self.args.batch,), generator=g)
            loss = nn.functional.cross_entropy(self.model(self.scans[pick]), self.labels[pick])
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if step % 20 == 0:
                log.info("step %d loss %.4f", step, loss.item())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--pretrain", type=int, default=150)
    parser.add_argument("--scans", type=int, default=200)
    parser.add_argument("--length", type=int, default=48)
    parser.add_argument("--width", type=int, default=12)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--pause", type=float, default=0.02)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    logging.basicConfig(level=logging.INFO, format=f"[{dist.get_rank()}] %(message)s")
    with tempfile.TemporaryDirectory() as folder:
        run = Run(args, Path(folder))
        run.build(run.prepare())
        run.fit()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
