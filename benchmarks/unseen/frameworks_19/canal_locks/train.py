"""Forecasts the level at the weir, with DeepSpeed (ZeRO-1) and a canal per process."""

import argparse
import logging
import os
import sys
import time

os.environ.setdefault("DS_ACCELERATOR", "cpu")

import deepspeed  # noqa: E402
import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402

from bulletin import Bulletin  # noqa: E402
from levels import GAUGES, LockLevels, summary  # noqa: E402


def settings(args):
    return {
        "train_micro_batch_size_per_gpu": args.batch,
        "gradient_accumulation_steps": 1,
        "gradient_clipping": 1.0,
        "zero_optimization": {"stage": 1},
        "zero_allow_untested_optimizer": True,
        "steps_per_print": 100000,
        "comms_logger": {"enabled": True, "verbose": False, "prof_all": True},
    }


class Forecast(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(GAUGES, hidden), nn.GELU(), nn.Linear(hidden, hidden), nn.GELU())
        self.weir = nn.Linear(hidden, 1)

    def forward(self, levels):
        return self.weir(self.net(levels)).squeeze(-1)


def run_epoch(engine, loader, pause):
    """Trains for an epoch and returns the mean error over all canals."""
    total = torch.zeros(2)
    for levels, weir in loader:
        loss = nn.functional.mse_loss(engine(levels), weir)
        engine.backward(loss)
        engine.step()
        total += torch.tensor([loss.item(), 1.0])
        time.sleep(pause)
    deepspeed.comm.all_reduce(total)
    return (total[0] / total[1]).item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hours", type=int, default=960)
    parser.add_argument("--batch", type=int, default=24)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--pause", type=float, default=0.04)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stdout)
    torch.set_num_threads(1)
    torch.manual_seed(2)
    deepspeed.init_distributed(dist_backend="gloo")
    model = Forecast()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    engine, _, _, _ = deepspeed.initialize(model=model, optimizer=optimizer, config=settings(args))
    rank = deepspeed.comm.get_rank()
    levels = LockLevels(rank, args.hours)
    print(summary(rank, levels), flush=True)
    loader = DataLoader(levels, args.batch, shuffle=True)
    bulletin = Bulletin()
    for epoch in range(args.epochs):
        mean = run_epoch(engine, loader, args.pause)
        if rank == 0:
            bulletin.write(epoch, mean)
    bulletin.close()
    deepspeed.comm.barrier()
    deepspeed.comm.destroy_process_group()


if __name__ == "__main__":
    main()
