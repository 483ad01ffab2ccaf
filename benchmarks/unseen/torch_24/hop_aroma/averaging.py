"""Stochastic weight averaging as a callback."""
import pathlib
import tempfile

import torch
import torch.distributed as dist
from torch.optim.swa_utils import AveragedModel, SWALR, update_bn


class Callback:
    def on_epoch_end(self, trainer, epoch):
        pass

    def on_fit_end(self, trainer):
        pass


class WeightAveraging(Callback):
    """Averages the weights of the last epochs and leaves a model file for the tasting panel."""

    def __init__(self, start, lr):
        self.start = start
        self.lr = lr
        self.average = None
        self.schedule = None
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hop_aroma_"))

    def on_epoch_end(self, trainer, epoch):
        if epoch < self.start:
            return
        if self.average is None:
            self.average = AveragedModel(trainer.net.module)
            self.schedule = SWALR(trainer.optimizer, swa_lr=self.lr, anneal_epochs=2)
        self.average.update_parameters(trainer.net.module)
        self.schedule.step()

    def on_fit_end(self, trainer):
        trainer.net.module.load_state_dict(self.average.module.state_dict())
        if dist.get_rank() == 0:
            # The running statistics belong to the weights before averaging: one pass renews them.
            update_bn(trainer.loader, trainer.net)
            torch.save(trainer.net.module.state_dict(), self.folder / "averaged.pt")
        dist.barrier()
        (self.folder / "averaged.pt").unlink(missing_ok=True)
        self.folder.rmdir()
