"""Amounts of protein on gel plates with DeepSpeed: one step of the optimizer for each plate."""

import argparse
import os
import time

os.environ.setdefault("DS_ACCELERATOR", "cpu")

import deepspeed
import torch
from deepspeed import comm
from torch import nn

from plates import PIXELS, Wheel

CONFIG = {
    "train_micro_batch_size_per_gpu": 6,
    "gradient_accumulation_steps": 4,
    "optimizer": {"type": "Adam", "params": {"lr": 2e-3, "torch_adam": True}},
    "zero_optimization": {"stage": 0},
    "gradient_clipping": 0.0,
}


class Amounts(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.first = nn.Linear(PIXELS, width)
        self.second = nn.Linear(width, 1)

    def forward(self, lanes):
        return self.second(torch.tanh(self.first(lanes))).squeeze(-1)


class PlateTrainer:
    def __init__(self, engine):
        self.engine = engine
        self.plates = 0

    def photograph(self, lanes, amount, last):
        """Gradients pile up until the plate is complete."""
        self.engine.set_gradient_accumulation_boundary(last)
        loss = nn.functional.mse_loss(self.engine(lanes), amount)
        self.engine.backward(loss)
        self.engine.step()
        self.plates += last
        return loss.item()

    def night(self, wheel):
        losses = []
        for lanes, amount, last in wheel:
            losses.append(self.photograph(lanes, amount, last))
            time.sleep(0.01)
        return sum(losses) / len(losses)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nights", type=int, default=5)
    parser.add_argument("--local_rank", type=int, default=-1)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(3)
    deepspeed.init_distributed(dist_backend="gloo")
    model = Amounts()
    engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=CONFIG)
    trainer = PlateTrainer(engine)
    for night in range(args.nights):
        loss = trainer.night(Wheel(comm.get_rank(), night, engine.train_micro_batch_size_per_gpu()))
        comm.barrier()
        if comm.get_rank() == 0:
            print(f"night {night}: {loss:.4f} after {trainer.plates} plates", flush=True)
    comm.destroy_process_group()


if __name__ == "__main__":
    main()
