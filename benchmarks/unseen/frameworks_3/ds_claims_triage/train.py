import argparse
import contextlib
import os
import time

import deepspeed
import torch
import torch.nn as nn
import torch.nn.functional as F

from claims import ClaimFeed, batches

DS_CONFIG = {
    "train_micro_batch_size_per_gpu": 8,
    "gradient_accumulation_steps": 2,
    "zero_optimization": {"stage": 1},
    "zero_allow_untested_optimizer": True,
    "gradient_clipping": 1.0,
    "steps_per_print": 1000,
}


class SeverityNet(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, width), nn.GELU(), nn.Linear(width, width), nn.GELU())
        self.head = nn.Linear(width, 1)

    def forward(self, x, target):
        return F.smooth_l1_loss(self.head(self.body(x)), target)


@contextlib.contextmanager
def resumable(engine, folder, progress):
    """Whatever stops the run (SIGINT, queue limit, an error), leave a checkpoint to continue from."""
    try:
        yield progress
    finally:
        engine.save_checkpoint(folder, tag="last", client_state=dict(progress))


def run_epoch(engine, feed, progress):
    for x, y in batches(feed, DS_CONFIG["train_micro_batch_size_per_gpu"]):
        loss = engine(x.to(engine.device), y.to(engine.device))
        engine.backward(loss)
        engine.step()
        progress["micro_steps"] += 1
        time.sleep(0.02)
        if progress["micro_steps"] % 10 == 0 and engine.global_rank == 0:
            print(f"micro step {progress['micro_steps']} loss {loss.item():.4f}", flush=True)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=2)
    ap.add_argument("--claims", type=int, default=480)
    ap.add_argument("--out", default="/tmp/claims_ckpt")
    ap.add_argument("--local_rank", type=int, default=int(os.environ.get("LOCAL_RANK", 0)))
    args = ap.parse_args()

    deepspeed.init_distributed(dist_backend="gloo")
    torch.manual_seed(3)
    net = SeverityNet()
    engine, _, _, _ = deepspeed.initialize(
        model=net,
        optimizer=torch.optim.AdamW(net.parameters(), lr=2e-3),
        config=DS_CONFIG,
    )
    progress = {"micro_steps": 0, "epoch": 0}
    with resumable(engine, args.out, progress):
        for epoch in range(args.epochs):
            progress["epoch"] = epoch
            run_epoch(engine, ClaimFeed(engine.global_rank, args.claims, seed=11 + epoch), progress)
    if engine.global_rank == 0:
        print("finished", progress, flush=True)


if __name__ == "__main__":
    main()
