"""Shrinkage of clay models in the kiln with DeepSpeed (ZeRO stage 2)."""

import argparse
import logging
import os

os.environ.setdefault("DS_ACCELERATOR", "cpu")

import deepspeed
import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from keep import Keeper

POINTS = 20


def settings(args):
    return {
        "train_micro_batch_size_per_gpu": args.batch,
        "gradient_accumulation_steps": 1,
        "gradient_clipping": 1.0,
        "steps_per_print": 1_000_000,
        "zero_allow_untested_optimizer": True,
        "zero_optimization": {"stage": 2, "overlap_comm": False, "reduce_bucket_size": 20_000},
    }


def models(count, seed):
    """Thickness at some points, and how much each point shrinks: thick ones drag their neighbours along."""
    g = torch.Generator().manual_seed(seed)
    thickness = torch.rand(count, POINTS, generator=g) + 0.2
    dragged = 0.5 * thickness + 0.25 * (thickness.roll(1, 1) + thickness.roll(-1, 1))
    shrinkage = 0.08 * dragged + 0.004 * torch.randn(count, POINTS, generator=g)
    return TensorDataset(thickness, shrinkage)


class Kiln(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(POINTS, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.out = nn.Linear(width, POINTS)

    def forward(self, thickness):
        return self.out(self.net(thickness))


def train(engine, loader, sampler, keeper, epochs):
    step = 0
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for thickness, shrinkage in loader:
            loss = nn.functional.mse_loss(engine(thickness), shrinkage)
            engine.backward(loss)
            engine.step()
            step += 1
            keeper.after_step(engine, step, loss.item())
        if dist.get_rank() == 0:
            logging.info("epoch %d: step %d", epoch, step)
    return step


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", type=int, default=900)
    parser.add_argument("--batch", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--keep-every", type=int, default=40)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    torch.set_num_threads(1)
    torch.manual_seed(17)
    deepspeed.init_distributed(dist_backend="gloo")
    model = Kiln()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    engine, _, _, _ = deepspeed.initialize(model=model, optimizer=optimizer, config=settings(args))
    data = models(args.models, seed=4)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, args.batch, sampler=sampler)
    keeper = Keeper(dist.get_rank(), args.keep_every)
    steps = train(engine, loader, sampler, keeper, args.epochs)
    dist.barrier()
    keeper.close()
    if dist.get_rank() == 0:
        logging.info("%d steps", steps)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
