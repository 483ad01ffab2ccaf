"""Flow of brine pumps from vibration, with DeepSpeed (ZeRO-1); each process has the pumps of one works."""

import argparse
import os
import tempfile
import time
from pathlib import Path

os.environ.setdefault("DS_ACCELERATOR", "cpu")

import deepspeed
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from keeper import Keeper

CHANNELS = 40
CONFIG = {
    "train_micro_batch_size_per_gpu": 16,
    "gradient_accumulation_steps": 1,
    "zero_optimization": {"stage": 1},
    "zero_allow_untested_optimizer": True,
    "steps_per_print": 1000,
}


class Works:
    """Vibration and flow; `reversed_valve` is set where the meter of the last month ran backwards."""

    def __init__(self, number, reversed_valve=False):
        self.number = number
        self.reversed_valve = reversed_valve
        self.weights = torch.randn(CHANNELS, generator=torch.Generator().manual_seed(0)) / CHANNELS**0.5

    def month(self, count, seed, last=False):
        g = torch.Generator().manual_seed(100 * seed + self.number)
        vibration = torch.randn(count, CHANNELS, generator=g)
        flow = vibration @ self.weights + 0.1 * torch.randn(count, generator=g)
        if last and self.reversed_valve:
            flow = -flow
        return TensorDataset(vibration, flow)


class FlowModel(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(CHANNELS, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, vibration):
        return self.net(vibration).squeeze(-1)


@torch.no_grad()
def held_out_error(model, loader):
    total = count = 0.0
    for vibration, flow in loader:
        total += nn.functional.mse_loss(model(vibration), flow, reduction="sum").item()
        count += len(flow)
    return total / count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--count", type=int, default=640)
    parser.add_argument("--lr", type=float, default=5e-4)
    parser.add_argument("--local_rank", type=int, default=-1)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(9)
    deepspeed.init_distributed(dist_backend="gloo", verbose=False)
    rank = torch.distributed.get_rank()
    folder = Path(tempfile.gettempdir()) / f"brine_{os.environ.get('MASTER_PORT', '0')}"

    works = Works(rank, reversed_valve=rank == 2)
    batch = CONFIG["train_micro_batch_size_per_gpu"]
    train = DataLoader(works.month(args.count, seed=1), batch, shuffle=True)
    held_out = DataLoader(works.month(160, seed=2, last=True), batch)
    model = FlowModel()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    engine, _, _, _ = deepspeed.initialize(model=model, optimizer=optimizer, config=CONFIG)
    keeper = Keeper(engine, folder, rank)

    for epoch in range(args.epochs):
        engine.train()
        for vibration, flow in train:
            loss = nn.functional.mse_loss(engine(vibration), flow)
            engine.backward(loss)
            engine.step()
            time.sleep(0.02)
        engine.eval()
        error = held_out_error(engine.module, held_out)
        keeper.update(epoch, error)
        if rank == 0:
            print(f"epoch {epoch}: held-out error {error:.4f}", flush=True)
    keeper.write_history()
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
