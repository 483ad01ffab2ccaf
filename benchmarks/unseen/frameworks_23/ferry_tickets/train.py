"""How many tickets a crossing will sell, with DeepSpeed: every process learns from the ledger of one line."""

import argparse
import logging
import os
import time

os.environ.setdefault("DS_ACCELERATOR", "cpu")

import deepspeed  # noqa: E402
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch import nn  # noqa: E402

from ledger import COLUMNS, LINES, Ledger, endless  # noqa: E402

log = logging.getLogger("tickets")


def settings(args):
    return {
        "train_micro_batch_size_per_gpu": args.batch,
        "gradient_accumulation_steps": 1,
        "gradient_clipping": 1.0,
        "zero_optimization": {"stage": 1},
        "zero_allow_untested_optimizer": True,
        "steps_per_print": 1_000_000,
    }


class Forecaster:
    def __init__(self, args):
        model = nn.Sequential(nn.Linear(COLUMNS, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1))
        optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
        self.engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=settings(args))

    def step(self, x, sold):
        loss = nn.functional.smooth_l1_loss(self.engine(x).squeeze(-1), sold)
        self.engine.backward(loss)
        self.engine.step()
        return loss.item()

    def fit(self, batches, steps, report):
        for n in range(1, steps + 1):
            loss = self.step(*next(batches))
            time.sleep(0.02)
            if n % report == 0 and dist.get_rank() == 0:
                log.info("step %d: %.4f", n, loss)


def run(args):
    line = LINES[dist.get_rank()]
    loader = Ledger(line, range(args.first, args.last + 1), seed=31).loader(args.batch)
    if len(loader) == 0:
        log.info("%s: nothing to learn from", line.name)
        return
    log.info("%s: %d batches", line.name, len(loader))
    forecaster = Forecaster(args)
    forecaster.fit(endless(loader), args.steps, report=50)
    log.info("%s: done", line.name)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--first", type=int, default=1, help="month")
    parser.add_argument("--last", type=int, default=4, help="month")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--local_rank", type=int, default=-1)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(name)s %(message)s")
    torch.set_num_threads(1)
    torch.manual_seed(1)
    deepspeed.init_distributed("gloo")
    run(args)


if __name__ == "__main__":
    main()
