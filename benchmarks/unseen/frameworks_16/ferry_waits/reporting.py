"""Reports of a training worker to Ray Train."""

import tempfile
from pathlib import Path

import torch
from ray import train
from ray.train import Checkpoint


class Reporter:
    """Figures of every epoch from all workers, and a checkpoint whenever the model is worth keeping."""

    def __init__(self, keep_every):
        self.keep_every = keep_every
        self.rank = train.get_context().get_world_rank()
        self.epoch = 0
        self.steps = 0
        self.losses = []

    def step(self, model, loss):
        self.losses.append(loss)
        self.steps += 1
        # only the checkpoint of the first worker is kept, so the others need not send theirs
        if self.rank == 0 and self.steps % self.keep_every == 0:
            self.keep(model)

    def keep(self, model):
        with tempfile.TemporaryDirectory() as folder:
            torch.save(model.module.state_dict(), Path(folder) / "model.pt")
            metrics = {"step": self.steps, "loss": self.recent()}
            train.report(metrics, checkpoint=Checkpoint.from_directory(folder))

    def recent(self):
        """Mean loss since the last time the model was kept."""
        losses = self.losses[-self.keep_every :]
        return sum(losses) / len(losses)

    def end_epoch(self):
        mean = sum(self.losses) / max(len(self.losses), 1)
        train.report({"epoch": self.epoch, "loss": mean})
        self.epoch += 1
        self.losses = []
