"""What sailors' knots are used for, from an archive's descriptions: DeepSpeed with ZeRO-3."""

import argparse
import logging
import os
import time

import deepspeed
import torch
from torch import nn

from almanac import Almanac
from knots import KnotModel, batches

log = logging.getLogger("knots")


def settings(args):
    return {
        "train_micro_batch_size_per_gpu": args.batch,
        "gradient_accumulation_steps": 1,
        "gradient_clipping": 1.0,
        "zero_optimization": {
            "stage": 3,
            "stage3_param_persistence_threshold": 0,
            "overlap_comm": False,
            "contiguous_gradients": True,
        },
        "zero_allow_untested_optimizer": True,
        "steps_per_print": 1000,
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--page-every", type=int, default=40)
    parser.add_argument("--local_rank", type=int, default=0)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.set_num_threads(1)
    torch.manual_seed(31)
    deepspeed.init_distributed(dist_backend="gloo")
    model = KnotModel(args.width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=settings(args))
    almanac = Almanac(engine, args.page_every)
    rank = int(os.environ["RANK"])
    for step, (words, uses) in enumerate(batches(args.steps, args.batch, seed=50 + rank)):
        loss = nn.functional.cross_entropy(engine(words), uses)
        engine.backward(loss)
        engine.step()
        almanac.after_step(step, loss.item())
        time.sleep(0.02)
    if rank == 0:
        log.info("finished")


if __name__ == "__main__":
    main()
