"""Depths of sediment layers from sonar traces, in a pipeline of three processes with send and recv."""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn

from stages import WIDTH, Patience, Survey, build

log = logging.getLogger("sonar")


class Stage:
    def __init__(self, args):
        self.rank, self.last = dist.get_rank(), dist.get_world_size() - 1
        self.args = args
        self.net = build(self.rank, self.last + 1)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=args.lr)
        self.survey = Survey(args.batch)
        self.patience = Patience(args.patience, args.least)

    def inputs(self):
        """What the stage works on, and the depths, which only the last stage compares."""
        traces, depths = self.survey.next()
        if self.rank == 0:
            return traces, depths
        received = torch.empty(self.args.batch, WIDTH)
        dist.recv(received, src=self.rank - 1)
        return received.requires_grad_(), depths

    def middle_step(self):
        x, _ = self.inputs()
        out = self.net(x)
        dist.send(out.detach(), dst=self.rank + 1)
        gradient = torch.empty_like(out)
        dist.recv(gradient, src=self.rank + 1)
        out.backward(gradient)
        self.finish(x)

    def last_step(self):
        x, depths = self.inputs()
        error = nn.functional.mse_loss(self.net(x), depths)
        error.backward()
        self.finish(x)
        return error.item()

    def finish(self, x):
        if self.rank > 0:
            dist.send(x.grad, dst=self.rank - 1)
        self.optimizer.step()
        self.optimizer.zero_grad()

    def train(self):
        smooth = None
        for step in range(self.args.steps):
            if self.rank < self.last:
                self.middle_step()
            else:
                error = self.last_step()
                smooth = error if smooth is None else 0.95 * smooth + 0.05 * error
                if step % 50 == 0:
                    log.info("step %d error %.4f", step, smooth)
                if self.patience.exhausted(smooth):
                    log.info("no progress for %d steps, ending at step %d", self.args.patience, step)
                    break
            time.sleep(0.005)
        return smooth


def collect(stage):
    """Number of parameters of the whole network, for the log."""
    count = torch.tensor(sum(p.numel() for p in stage.net.parameters()))
    dist.all_reduce(count)
    return count.item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--patience", type=int, default=120)
    parser.add_argument("--least", type=float, default=2e-3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    stage = Stage(args)
    parameters = collect(stage)
    error = stage.train()
    dist.barrier()
    if stage.rank == stage.last:
        log.info("%d parameters, error %.4f", parameters, error)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
