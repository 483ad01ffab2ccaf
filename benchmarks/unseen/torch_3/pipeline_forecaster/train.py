"""Energy-load forecaster cut into pipeline stages (one process each), GPipe schedule."""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

from stopping import Plateau

logger = logging.getLogger("forecast")
WINDOW, HIDDEN = 24, 32


class ResidualBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(HIDDEN, HIDDEN), nn.Linear(HIDDEN, HIDDEN)

    def forward(self, x):
        return x + self.fc2(torch.relu(self.fc1(x)))


def build_stage(index, count):
    layers = [ResidualBlock(), ResidualBlock()]
    if index == 0:
        layers.insert(0, nn.Linear(WINDOW, HIDDEN))
    if index == count - 1:
        layers.append(nn.Linear(HIDDEN, 1))
    return nn.Sequential(*layers)


def load_curve(steps, batch, seed):
    """The same stream on every stage: the first needs the windows, the last the targets."""
    gen = torch.Generator().manual_seed(seed)
    hours = torch.arange(WINDOW + 1) / 24.0
    for _ in range(steps):
        phase = torch.rand(batch, 1, generator=gen)
        curve = torch.sin(6.283 * (hours + phase)) + 0.3 * torch.randn(batch, WINDOW + 1, generator=gen)
        yield curve[:, :WINDOW], curve[:, WINDOW:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--max-steps", type=int, default=400)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--microbatches", type=int, default=4)
    parser.add_argument("--patience", type=int, default=10)
    parser.add_argument("--tolerance", type=float, default=0.25)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(name)s %(message)s")

    dist.init_process_group("gloo")
    index, count = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(100 + index)
    module = build_stage(index, count)
    stage = PipelineStage(module, index, count, torch.device("cpu"))
    schedule = ScheduleGPipe(stage, args.microbatches, loss_fn=nn.functional.mse_loss)
    optimizer = torch.optim.Adam(module.parameters(), lr=2e-3)
    plateau = Plateau(args.patience, args.tolerance, smoothing=0.5, warmup=15)

    for step, (window, target) in enumerate(load_curve(args.max_steps, args.batch, seed=9)):
        losses = []
        if index == 0:
            schedule.step(window)
        elif index == count - 1:
            schedule.step(target=target, losses=losses)
        else:
            schedule.step()
        optimizer.step()
        optimizer.zero_grad()
        time.sleep(0.02)
        if losses:
            loss = torch.stack(losses).mean().item()
            if step % 10 == 0:
                logger.info("step %d mse %.4f", step, loss)
            if plateau.step(loss):
                logger.info("no gain for %d steps, stopping at %d", args.patience, step)
                break

    dist.barrier()
    torch.save(module.state_dict(), f"/tmp/forecaster_stage{index}.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
