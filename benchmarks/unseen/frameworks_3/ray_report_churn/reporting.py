import json
import os
import tempfile

import ray.train
import torch
from ray.train import Checkpoint


class Reporter:
    """Hands metrics and a checkpoint to Ray; the weights are the same everywhere, one copy will do."""

    def __init__(self, every):
        self.every = every
        self.rank = ray.train.get_context().get_world_rank()
        self.count = 0

    def after_epoch(self, epoch, model, metrics):
        self.count += 1
        if self.rank == 0 and self.count % self.every == 0:
            self._publish(epoch, model, metrics)

    def _publish(self, epoch, model, metrics):
        with tempfile.TemporaryDirectory() as folder:
            torch.save(model.module.state_dict(), os.path.join(folder, "model.pt"))
            with open(os.path.join(folder, "meta.json"), "w") as out:
                json.dump({"epoch": epoch, **metrics}, out)
            ray.train.report({"epoch": epoch, **metrics}, checkpoint=Checkpoint.from_directory(folder))
