"""Click-through-rate model with Ray Train on two CPU workers."""
import os
import tempfile
import time

import ray
import ray.train.torch
import torch
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from reporting import BestReporter


class FactorizationMachine(nn.Module):
    def __init__(self, features=200, dim=8):
        super().__init__()
        self.linear = nn.EmbeddingBag(features, 1, mode="sum")
        self.factors = nn.Embedding(features, dim)

    def forward(self, x):
        v = self.factors(x)
        pairs = 0.5 * (v.sum(1).square() - v.square().sum(1)).sum(1)
        return self.linear(x).squeeze(1) + pairs


def impressions(n=640):
    g = torch.Generator().manual_seed(0)
    x = torch.randint(0, 200, (n, 5), generator=g)
    return TensorDataset(x, ((x[:, 0] + x[:, 1]) % 3 == 0).float())


def train_loop(config):
    torch.manual_seed(9)
    model = ray.train.torch.prepare_model(FactorizationMachine())
    loader = DataLoader(impressions(), batch_size=config["batch_size"], shuffle=True)
    loader = ray.train.torch.prepare_data_loader(loader)
    optimizer = torch.optim.Adam(model.parameters(), lr=config["lr"])
    reporter = BestReporter(first_epoch=1)

    for epoch in range(config["epochs"]):
        loader.sampler.set_epoch(epoch)
        total = torch.zeros(2)
        for x, y in loader:
            loss = nn.functional.binary_cross_entropy_with_logits(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += torch.tensor([loss.item(), 1.0])
            time.sleep(0.02)
        torch.distributed.all_reduce(total)
        reporter(epoch, (total[0] / total[1]).item(), model)


if __name__ == "__main__":
    os.environ.setdefault("RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S", "300")  # slow shared machine
    ray.init(num_cpus=3, object_store_memory=100 * 1024 * 1024, include_dashboard=False)
    trainer = TorchTrainer(
        train_loop,
        train_loop_config={"epochs": 6, "batch_size": 16, "lr": 5e-3},
        scaling_config=ScalingConfig(num_workers=2),
        run_config=RunConfig(name="ctr", storage_path=tempfile.mkdtemp(prefix="ctr-")),
    )
    result = trainer.fit()
    print("best:", result.metrics)
    ray.shutdown()
