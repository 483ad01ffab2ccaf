"""Curriculum training of a model of waiting times at canal locks; every process has one reach of the canal."""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from accumulation import Accumulator
from voyages import FEATURES, Voyages, stages

log = logging.getLogger("canal")


class WaitingTime(nn.Module):
    def __init__(self, width=40):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(FEATURES, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.head = nn.Linear(width, 1)

    def forward(self, barge):
        return self.head(self.net(barge)).squeeze(-1)


def common_length(loader):
    """How many batches every process has."""
    length = torch.tensor(len(loader))
    dist.all_reduce(length, op=dist.ReduceOp.MIN)
    return int(length)


def run_stage(model, accumulator, loader):
    steps = common_length(loader)
    accumulator.begin(loader)
    losses = []
    for _, (barge, waiting) in zip(range(steps), loader):
        with accumulator.batch() as step:
            loss = nn.functional.huber_loss(model(barge), waiting)
            step.backward(loss)
        losses.append(loss.detach())
        time.sleep(0.02)
    return torch.stack(losses).mean()


def gather_scores(loss):
    scores = [torch.zeros_like(loss) for _ in range(dist.get_world_size())]
    dist.all_gather(scores, loss)
    return [score.item() for score in scores]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stages", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=2, help="epochs of each stage")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--accumulate", type=int, default=4)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(1)
    model = DistributedDataParallel(WaitingTime())
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    accumulator = Accumulator(model, optimizer, args.accumulate)
    for stage, name in enumerate(stages(args.stages)):
        loader = DataLoader(Voyages(rank, stage, args.batch), batch_size=args.batch, shuffle=True)
        for epoch in range(args.epochs):
            scores = gather_scores(run_stage(model, accumulator, loader))
            if rank == 0:
                log.info("%s %d: %s", name, epoch, " ".join(f"{score:.4f}" for score in scores))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
