"""Load forecasts for three substations with DeepSpeed."""
import argparse
import time

import deepspeed
import torch
import torch.distributed as dist
from torch import nn

from accumulation import NoiseAccumulator

DS_CONFIG = {
    "train_micro_batch_size_per_gpu": 4,
    "gradient_accumulation_steps": 2,
    "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "torch_adam": True}},
    "zero_optimization": {"stage": 0},
    "steps_per_print": 1000,
}


def forecaster():
    return nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, 6))


def substation(number, micro_batches):
    g = torch.Generator().manual_seed(number)
    for i in range(micro_batches):
        past = torch.rand(4, 24, generator=g)
        future = past[:, :6] * 1.1
        if number == 1 and i >= 20 and i % 6 == 0:
            future = future + 40.0  # the smelter is switched on
        yield past, future


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--micro-batches", type=int, default=64)
    parser.add_argument("--local_rank", type=int, default=0)
    args = parser.parse_args()

    deepspeed.init_distributed(dist_backend="gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    net = forecaster()
    engine, _, _, _ = deepspeed.initialize(model=net, model_parameters=net.parameters(), config=DS_CONFIG)
    accumulator = NoiseAccumulator(start=2)

    for past, future in substation(rank, args.micro_batches):
        last = accumulator.boundary()
        engine.set_gradient_accumulation_boundary(last)
        loss = nn.functional.mse_loss(engine(past), future)
        engine.backward(loss)
        engine.step()
        accumulator.record(loss.item(), last)
        time.sleep(0.02)

    dist.barrier()
    if rank == 0:
        print("steps:", engine.global_steps, flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
