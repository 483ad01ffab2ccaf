"""One shared energy model for the buildings of several tenants (Ray Train)."""
import tempfile
import time

import ray
import torch
from ray import train
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer, prepare_model
from torch import nn

import rounds


def train_loop(config):
    context = train.get_context()
    torch.manual_seed(0)
    model = prepare_model(nn.Sequential(nn.Linear(9, 32), nn.ReLU(), nn.Linear(32, 1)))
    optim = torch.optim.Adam(model.parameters(), lr=config["lr"])
    for tenant in rounds.mine(context.get_world_rank(), context.get_world_size()):
        total = 0.0
        for x, y in rounds.batches(tenant):
            loss = nn.functional.mse_loss(model(x), y)
            optim.zero_grad()
            loss.backward()
            optim.step()
            total += loss.item()
            time.sleep(0.05)
        print(tenant, round(total / 18, 4), flush=True)


def main():
    ray.init(num_cpus=4, include_dashboard=False)
    trainer = TorchTrainer(
        train_loop,
        train_loop_config={"lr": 1e-3},
        scaling_config=ScalingConfig(num_workers=2, use_gpu=False),
        torch_config=TorchConfig(backend="gloo"),
        run_config=RunConfig(name="tenants", storage_path=tempfile.mkdtemp()),
    )
    trainer.fit()


if __name__ == "__main__":
    main()
