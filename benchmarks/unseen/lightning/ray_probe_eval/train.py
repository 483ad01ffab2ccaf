"""Contrastive sentence encoder with a nearest-neighbour probe on one worker (Ray Train)."""
import os
import tempfile
import time
from dataclasses import asdict, dataclass

import ray
import torch
import torch.distributed as dist
from ray import train
from ray.train import Checkpoint, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer, prepare_model

from probe import NeighbourProbe


@dataclass
class Settings:
    epochs: int = 2
    steps: int = 25
    batch: int = 12
    temperature: float = 0.2
    probe_rank: int = 1
    probe_queries: int = 130


class Encoder(torch.nn.Module):
    def __init__(self, vocab=300, dim=24):
        super().__init__()
        self.bag = torch.nn.EmbeddingBag(vocab, dim)
        self.project = torch.nn.Linear(dim, dim)

    def forward(self, ids):
        return torch.nn.functional.normalize(self.project(self.bag(ids)), dim=1)


def pairs(rank, settings, vocab=300):
    g = torch.Generator().manual_seed(rank)
    for _ in range(settings.steps):
        a = torch.randint(0, vocab, (settings.batch, 10), generator=g)
        b = a.clone()
        b[:, :3] = torch.randint(0, vocab, (settings.batch, 3), generator=g)
        yield a, b


def train_loop_per_worker(config):
    settings = Settings(**config)
    rank = train.get_context().get_world_rank()
    torch.manual_seed(0)
    model = prepare_model(Encoder())
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(settings.epochs):
        for a, b in pairs(rank, settings):
            both = model(torch.cat([a, b]))
            logits = both[: len(a)] @ both[len(a) :].T / settings.temperature
            loss = torch.nn.functional.cross_entropy(logits, torch.arange(len(a)))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            time.sleep(0.02)

        metrics = {"epoch": epoch, "loss": loss.item()}
        if epoch == settings.epochs - 1 and rank == settings.probe_rank:
            metrics["recall"] = NeighbourProbe(model.module, settings.probe_queries).recall()
            print(f"probe recall {metrics['recall']:.3f}", flush=True)
        dist.barrier()
        with tempfile.TemporaryDirectory() as folder:
            checkpoint = None
            if rank == 0:
                torch.save(model.module.state_dict(), f"{folder}/encoder.pt")
                checkpoint = Checkpoint.from_directory(folder)
            train.report(metrics, checkpoint=checkpoint)


if __name__ == "__main__":
    os.environ.setdefault("RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S", "300")  # slow shared machine
    ray.init(num_cpus=3, object_store_memory=100 * 1024**2, include_dashboard=False)
    result = TorchTrainer(
        train_loop_per_worker,
        train_loop_config=asdict(Settings()),
        scaling_config=ScalingConfig(num_workers=2),
        run_config=RunConfig(name="encoder", storage_path=tempfile.mkdtemp(prefix="encoder-")),
    ).fit()
    print("last report:", result.metrics)
    ray.shutdown()
