"""Which voices are in a mix: a separator's front end, trained on mixes made on the fly with torchdata.nodes."""

import argparse
import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torchdata.nodes import Batcher, IterableWrapper, Loader, Mapper, ParallelMapper

from stems import SAMPLES, VOICES, Mixer, StemShelf, programme

log = logging.getLogger("choir")


def stack(batch):
    mixes, voices = zip(*batch)
    target = torch.zeros(len(batch), len(VOICES))
    target.scatter_(1, torch.stack(voices), 1.0)
    return torch.stack(mixes), target


def build_loader(choir, args):
    """Cues -> mixes (in threads, since reading waits for the disk) -> batches."""
    node = IterableWrapper(programme(choir, args.cues))
    mixer = Mixer(StemShelf(choir, args.latency))
    node = ParallelMapper(node, mixer, num_workers=args.threads, method="thread", in_order=True)
    node = Batcher(node, args.batch, drop_last=True)
    return Loader(Mapper(node, stack))


class VoiceDetector(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(SAMPLES, width), nn.GELU(), nn.Linear(width, len(VOICES)))

    def forward(self, mix):
        return self.net(mix)


def train(model, optimizer, loader, epochs):
    for epoch in range(epochs):
        total, steps = torch.zeros(()), 0
        for mix, target in loader:
            loss = nn.functional.binary_cross_entropy_with_logits(model(mix), target)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            total += loss.detach()
            steps += 1
        dist.all_reduce(total)
        log.info("epoch %d: %.4f", epoch, total.item() / steps / dist.get_world_size())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cues", type=int, default=720)
    parser.add_argument("--batch", type=int, default=6)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--latency", type=float, default=0.02)
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = DistributedDataParallel(VoiceDetector())
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    train(model, optimizer, build_loader(dist.get_rank(), args), args.epochs)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
