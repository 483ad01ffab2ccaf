import os
import tempfile

import torch
from ray import train
from ray.train import Checkpoint


class BestReporter:
    """Reports an epoch with its checkpoint when it is the best so far."""

    def __init__(self, first_epoch: int = 0):
        self.first_epoch = first_epoch
        self.best = float("inf")

    def __call__(self, epoch: int, loss: float, model: torch.nn.Module) -> None:
        if epoch < self.first_epoch or loss >= self.best:
            return
        self.best = loss
        if train.get_context().get_world_rank() == 0:
            with tempfile.TemporaryDirectory() as folder:
                state = {"epoch": epoch, "model": model.module.state_dict()}
                torch.save(state, os.path.join(folder, "model.pt"))
                train.report({"epoch": epoch, "loss": loss}, checkpoint=Checkpoint.from_directory(folder))
