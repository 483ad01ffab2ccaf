"""The trainer's sheet: which commands the dog would take for which others."""

import torch
from lightning.pytorch.callbacks import Callback


class ConfusionSheet(Callback):
    """Prints the table of confusions after every `every` epochs."""

    def __init__(self, names, every):
        self.names = names
        self.every = every

    def on_validation_epoch_end(self, trainer, pl_module):
        due = (trainer.current_epoch + 1) % self.every == 0
        if trainer.sanity_checking or not due or not trainer.is_global_zero:
            return
        self.write(trainer.current_epoch, self.shares(pl_module))

    def shares(self, pl_module):
        counts = pl_module.confusion.compute().float()
        return counts / counts.sum(1, keepdim=True).clamp(min=1)

    def write(self, epoch, shares):
        print(f"after epoch {epoch}")
        for name, row in zip(self.names, shares):
            cells = " ".join(f"{share:5.2f}" for share in row)
            print(f"  {name:12s} {cells}", flush=True)
        off = shares - torch.diag(shares.diag())
        heard, meant = divmod(int(off.argmax()), len(self.names))
        print(f"  {self.names[heard]!r} is most often taken for {self.names[meant]!r}", flush=True)
