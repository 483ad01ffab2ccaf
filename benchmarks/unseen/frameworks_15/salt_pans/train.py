"""Evaporation of salt pans from the weather, with Ray Train on two workers."""

import argparse
import pathlib
import sys
import tempfile

import ray
import torch
import torch.distributed as dist
from ray import train
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer, prepare_model
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

HERE = str(pathlib.Path(__file__).resolve().parent)


def pans(count, seed):
    """Sun, wind, humidity, temperature, depth, brine; and the millimetres that were lost in a day."""
    g = torch.Generator().manual_seed(seed)
    weather = torch.rand(count, 6, generator=g)
    sun, wind, humidity, heat, depth, brine = weather.T
    lost = 4 * sun * heat + 2 * wind * (1 - humidity) - brine * depth
    return TensorDataset(weather, lost + 0.1 * torch.randn(count, generator=g))


def average(values, device="cpu"):
    """Means over the workers of a few named values, in one all-reduce."""
    tensor = torch.tensor([values[name] for name in sorted(values)], device=device)
    dist.all_reduce(tensor)
    tensor /= dist.get_world_size()
    return dict(zip(sorted(values), tensor.tolist()))


def evaporate(config):
    from books import Books

    torch.set_num_threads(1)
    torch.manual_seed(2)
    rank = train.get_context().get_world_rank()
    world = train.get_context().get_world_size()
    data = pans(config["pans"], seed=3)
    sampler = DistributedSampler(data, world, rank)
    loader = DataLoader(data, config["batch"], sampler=sampler)
    model = prepare_model(nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1)))
    optimizer = torch.optim.Adam(model.parameters(), lr=config["lr"])
    books = Books()
    for epoch in range(config["epochs"]):
        sampler.set_epoch(epoch)
        loss_sum = error_sum = 0.0
        for weather, lost in loader:
            predicted = model(weather).squeeze(-1)
            loss = nn.functional.mse_loss(predicted, lost)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss_sum += loss.item()
            error_sum += (predicted - lost).abs().mean().item()
        figures = average({"loss": loss_sum / len(loader), "error": error_sum / len(loader)})
        books.write(epoch, figures)
    print(f"worker {rank}: best error {books.best('error'):.3f} mm", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pans", type=int, default=1200)
    parser.add_argument("--batch", type=int, default=20)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--lr", type=float, default=5e-3)
    args = parser.parse_args()
    sys.path.insert(0, HERE)
    ray.init(num_cpus=3, include_dashboard=False, runtime_env={"env_vars": {"PYTHONPATH": HERE}})
    trainer = TorchTrainer(
        evaporate,
        train_loop_config=vars(args),
        scaling_config=ScalingConfig(num_workers=2, use_gpu=False),
        run_config=RunConfig(name="salt_pans", storage_path=tempfile.mkdtemp(prefix="salt_pans_")),
    )
    result = trainer.fit()
    print("driver:", result.metrics, flush=True)
    ray.shutdown()


if __name__ == "__main__":
    main()
