"""Leaf disease classifier trained with Ray Train."""
import os
import tempfile
import time

import ray
import torch
import torch.nn as nn
from ray import train
from ray.train import Checkpoint, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer, prepare_data_loader, prepare_model
from torch.utils.data import DataLoader, TensorDataset


def leaves(n, seed):
    gen = torch.Generator().manual_seed(seed)
    images = torch.rand(n, 3, 16, 16, generator=gen)
    return TensorDataset(images, (images[:, 1].mean(dim=(1, 2)) > 0.5).long())


class LeafNet(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, width, 3, stride=2), nn.GroupNorm(2, width), nn.ReLU())
        self.classify = nn.Linear(width, 2)

    def forward(self, images):
        return self.classify(self.features(images).mean(dim=(2, 3)))


class Publisher:
    """Hands results to Ray; the first epochs are noise and are left out."""

    def __init__(self, model, skip_epochs):
        self.model = model
        self.skip_epochs = skip_epochs
        self.context = train.get_context()

    def epoch_done(self, epoch, total, batches):
        if epoch < self.skip_epochs:
            return
        metrics = {"epoch": epoch, "loss": total / batches}
        if self.context.get_world_rank() == 0:
            self.publish(metrics)

    def publish(self, metrics):
        module = getattr(self.model, "module", self.model)
        with tempfile.TemporaryDirectory() as folder:
            torch.save(module.state_dict(), os.path.join(folder, "leafnet.pt"))
            train.report(metrics, checkpoint=Checkpoint.from_directory(folder))


def train_loop(config):
    torch.manual_seed(0)
    model = prepare_model(LeafNet(config["width"]))
    loader = prepare_data_loader(DataLoader(leaves(256, 5), batch_size=config["batch_size"], shuffle=True))
    optimizer = torch.optim.SGD(model.parameters(), lr=config["lr"], momentum=0.9)
    publisher = Publisher(model, skip_epochs=2)
    for epoch in range(config["epochs"]):
        if train.get_context().get_world_size() > 1:
            loader.sampler.set_epoch(epoch)
        total = 0.0
        for images, disease in loader:
            loss = nn.functional.cross_entropy(model(images), disease)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            time.sleep(0.02)
        publisher.epoch_done(epoch, total, len(loader))


if __name__ == "__main__":
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=True)
    trainer = TorchTrainer(
        train_loop,
        train_loop_config={"width": 8, "batch_size": 8, "lr": 0.05, "epochs": 8},
        scaling_config=ScalingConfig(num_workers=2, use_gpu=False),
        run_config=RunConfig(name=f"leaves-{os.getpid()}", storage_path="/tmp/crop_leaves"),
    )
    result = trainer.fit()
    print("final:", result.metrics)
    ray.shutdown()
