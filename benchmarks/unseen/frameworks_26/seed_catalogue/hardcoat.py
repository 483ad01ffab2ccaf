import datetime
import logging
import os

import torch
import torch.distributed as dist
from transformers import TrainerCallback

log = logging.getLogger("seeds")


class HardCoat(TrainerCallback):
    """The correction for hard-coated seeds, agreed on by the nurseries that have such lots.

    Only few lots are hard-coated, so the correction is fitted after an epoch and not in it. Nurseries without such
    lots have nothing to say about it and keep the last one.
    """

    def __init__(self, shelf, start=2):
        self.shelf = shelf
        self.start = start
        self.group = None
        self.correction = 0.0

    def holders(self):
        counts = [None] * dist.get_world_size()
        dist.all_gather_object(counts, len(self.shelf))
        return [nursery for nursery, count in enumerate(counts) if count > 0]

    def open_group(self):
        holders = self.holders()
        if dist.get_rank() in holders:
            self.group = dist.new_group(holders)
            log.info("nursery %d takes part in the correction", dist.get_rank())

    @torch.no_grad()
    def fit(self, model):
        expected = torch.sigmoid(model(self.shelf.traits)["logits"])
        sums = torch.stack([(self.shelf.share - expected).sum(), torch.tensor(float(len(self.shelf)))])
        dist.all_reduce(sums, group=self.group)
        return (sums[0] / sums[1]).item()

    def on_epoch_end(self, args, state, control, model=None, **kwargs):
        if round(state.epoch) < self.start:
            return
        if round(state.epoch) == self.start:
            self.open_group()
        if self.group is not None:
            self.correction = self.fit(getattr(model, "module", model))
            log.info("epoch %d: correction %+.3f", round(state.epoch), self.correction)


class Release(TrainerCallback):
    """Puts the weights on the share of the catalogue after the epochs of a release.

    The share may be slow, so the nurseries wait for the file in a group of their own with a long timeout.
    """

    def __init__(self, epochs, folder):
        self.epochs = epochs
        self.folder = folder
        self.group = None

    def on_epoch_end(self, args, state, control, model=None, **kwargs):
        if round(state.epoch) not in self.epochs:
            return
        if self.group is None:
            self.group = dist.new_group(timeout=datetime.timedelta(hours=2))
        if state.is_world_process_zero:
            os.makedirs(self.folder, exist_ok=True)
            path = os.path.join(self.folder, f"release_{round(state.epoch)}.pt")
            torch.save(getattr(model, "module", model).state_dict(), path)
        dist.barrier(self.group)
