"""Waiting times at a ferry landing with Ray Train, on two workers."""

import argparse
import tempfile
import time

import ray
import torch
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer, prepare_data_loader, prepare_model
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FEATURES = 9


def landings(count, seed):
    """Weather, traffic and timetable at an hour, and the minutes that cars waited."""
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(count, FEATURES, generator=g)
    wait = (2 * x[:, 0] + x[:, 1] * x[:, 2]).clamp(min=0) + 0.2 * torch.rand(count, generator=g)
    return TensorDataset(x, wait)


class WaitModel(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(FEATURES, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, x):
        return nn.functional.softplus(self.net(x)).squeeze(-1)


def train_worker(config):
    from reporting import Reporter

    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = prepare_model(WaitModel(config["width"]))
    optimizer = torch.optim.Adam(model.parameters(), lr=config["lr"])
    loader = prepare_data_loader(DataLoader(landings(config["hours"], seed=1), config["batch"], shuffle=True))
    reporter = Reporter(config["keep_every"])
    for epoch in range(config["epochs"]):
        for x, wait in loader:
            loss = nn.functional.l1_loss(model(x), wait)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            reporter.step(model, loss.item())
            time.sleep(0.01)
        reporter.end_epoch()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hours", type=int, default=2400)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--keep-every", type=int, default=120)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()
    ray.init(num_cpus=3, include_dashboard=False, log_to_driver=True)
    trainer = TorchTrainer(
        train_worker,
        train_loop_config=vars(args),
        scaling_config=ScalingConfig(num_workers=2, use_gpu=False),
        torch_config=TorchConfig(backend="gloo"),
        run_config=RunConfig(name="ferry", storage_path=tempfile.mkdtemp(prefix="ferry-")),
    )
    result = trainer.fit()
    print(result.metrics)


if __name__ == "__main__":
    main()
