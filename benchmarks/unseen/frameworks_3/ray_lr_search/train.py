import tempfile
import time

import ray
import torch
import torch.distributed as dist
import torch.nn as nn
from ray import train
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer, prepare_model

from search import Heartbeat, successive_halving


def rides(seed, n=24, batch=8):
    g = torch.Generator().manual_seed(seed)
    for _ in range(n):
        x = torch.rand(batch, 6, generator=g)
        yield x, (x @ torch.arange(1.0, 7.0)).unsqueeze(-1)


def agree_on_rate(ctx, module, config):
    """The second worker has an idle half-node, so the search happens there."""
    rate = torch.zeros(1)
    if ctx.get_world_rank() == 1:
        found = successive_halving(module, list(rides(900, n=4)), nn.functional.mse_loss, config["rates"],
                                   config["rung_seconds"])
        rate.fill_(found)
    dist.broadcast(rate, src=1)
    return rate.item()


def loop(config):
    ctx = train.get_context()
    torch.manual_seed(8)
    net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
    model = prepare_model(net)
    with Heartbeat(f"worker {ctx.get_world_rank()}"):
        for phase in range(config["phases"]):
            lr = agree_on_rate(ctx, model.module, config)
            optimizer = torch.optim.SGD(model.parameters(), lr=lr)
            for x, y in rides(phase * 10 + ctx.get_world_rank()):
                loss = nn.functional.mse_loss(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                time.sleep(0.02)
            train.report({"phase": phase, "lr": lr, "loss": loss.item()})


if __name__ == "__main__":
    ray.init(num_cpus=4, include_dashboard=False)
    result = TorchTrainer(
        loop,
        train_loop_config={"phases": 2, "rates": [0.001, 0.003, 0.01, 0.02], "rung_seconds": 1.5},
        scaling_config=ScalingConfig(num_workers=2, use_gpu=False),
        run_config=RunConfig(name="rides", storage_path=tempfile.mkdtemp(prefix="rides_")),
    ).fit()
    print(result.metrics)
    ray.shutdown()
