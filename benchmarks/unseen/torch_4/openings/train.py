"""Opening classifier for chess positions, three pipeline stages."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

BOARD, FAMILIES = 64, 4


class Plateau:
    """Says when the running loss is good enough."""

    def __init__(self, target, momentum=0.8):
        self.target, self.momentum, self.level = target, momentum, None

    def reached(self, loss):
        self.level = loss if self.level is None else self.momentum * self.level + (1 - self.momentum) * loss
        return self.level < self.target


def part(index, width=32):
    parts = [
        lambda: nn.Sequential(nn.Linear(BOARD, width), nn.ReLU()),
        lambda: nn.Sequential(nn.Linear(width, width), nn.ReLU()),
        lambda: nn.Linear(width, FAMILIES),
    ]
    return parts[index]()


def positions(batch):
    g = torch.Generator().manual_seed(64)
    while True:
        family = torch.randint(0, FAMILIES, (batch,), generator=g)
        board = torch.rand(batch, BOARD, generator=g) * 0.2
        board[torch.arange(batch), family * 16] += 1.0
        yield board, family


class Worker:
    def __init__(self, args):
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.args = args
        torch.manual_seed(self.rank)
        self.module = part(self.rank)
        stage = PipelineStage(self.module, self.rank, self.world, torch.device("cpu"))
        self.schedule = ScheduleGPipe(stage, n_microbatches=args.chunks, loss_fn=nn.functional.cross_entropy)
        self.optimizer = torch.optim.Adam(self.module.parameters(), lr=args.lr)
        self.plateau = Plateau(args.target)

    @property
    def last(self):
        return self.rank == self.world - 1

    def step(self, board, family):
        """One batch through the pipeline; the loss, where it is known."""
        self.optimizer.zero_grad()
        losses = []
        if self.rank == 0:
            self.schedule.step(board)
        elif self.last:
            self.schedule.step(target=family, losses=losses)
        else:
            self.schedule.step()
        self.optimizer.step()
        return torch.stack(losses).mean().item() if losses else None

    def fit(self):
        source = positions(self.args.batch)
        for number in range(1, self.args.steps + 1):
            loss = self.step(*next(source))
            time.sleep(0.02)
            if loss is not None and number % 10 == 0:
                print(f"step {number} loss {loss:.4f}", flush=True)
            if loss is not None and self.plateau.reached(loss):
                print(f"good enough after {number} steps", flush=True)
                break


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=3000)
    ap.add_argument("--batch", type=int, default=16)
    ap.add_argument("--chunks", type=int, default=4)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--target", type=float, default=0.9)
    dist.init_process_group("gloo")
    worker = Worker(ap.parse_args())
    worker.fit()
    dist.barrier()
    torch.save(worker.module.state_dict(), f"/tmp/openings_stage{worker.rank}.pt")
    dist.destroy_process_group()
