"""Daily gas demand from weather and calendar, with DeepSpeed ZeRO-3."""

import argparse
import os
import time

os.environ.setdefault("DS_ACCELERATOR", "cpu")

import deepspeed
import torch
import torch.distributed as dist
from torch import nn

from watch import WeightWatch

FEATURES = 14


def days(count, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(count, FEATURES, generator=g)
    heating = torch.relu(0.5 - x[:, 0]) * 2 + 0.3 * x[:, 1]
    return x, heating + 0.05 * torch.randn(count, generator=g)


class Demand(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(FEATURES, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.head = nn.Linear(width, 1)

    def forward(self, x, demand):
        return nn.functional.mse_loss(self.head(self.encoder(x)).squeeze(-1), demand)


def settings(args):
    return {
        "train_micro_batch_size_per_gpu": args.batch,
        "gradient_accumulation_steps": 1,
        "gradient_clipping": 1.0,
        "zero_allow_untested_optimizer": True,
        "zero_optimization": {
            "stage": 3,
            "stage3_param_persistence_threshold": 0,
            "reduce_bucket_size": 10_000,
            "stage3_prefetch_bucket_size": 10_000,
        },
        "steps_per_print": 1_000_000,
        "wall_clock_breakdown": False,
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--days", type=int, default=1200)
    parser.add_argument("--batch", type=int, default=20)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--watch-every", type=int, default=80)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--local_rank", type=int, default=-1)
    args = parser.parse_args()
    torch.set_num_threads(1)
    deepspeed.init_distributed(dist_backend="gloo")
    torch.manual_seed(0)
    model = Demand()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    engine, optimizer, _, _ = deepspeed.initialize(model=model, optimizer=optimizer, config=settings(args))
    watch = WeightWatch(engine, every=args.watch_every)
    x, demand = days(args.days, seed=1)
    mine = slice(dist.get_rank(), None, dist.get_world_size())
    x, demand = x[mine], demand[mine]
    for epoch in range(args.epochs):
        order = torch.randperm(len(x), generator=torch.Generator().manual_seed(epoch))
        total = torch.zeros(1)
        for chosen in order.split(args.batch):
            loss = engine(x[chosen], demand[chosen])
            engine.backward(loss)
            engine.step()
            watch.after_step()
            total += loss.detach()
            time.sleep(0.02)
        dist.all_reduce(total)
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: {total.item():.3f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
