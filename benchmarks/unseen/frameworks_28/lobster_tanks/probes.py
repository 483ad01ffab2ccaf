"""Callbacks that work on rank 0 only."""
import os
import time

import lightning as L
import torch


class BareProbe(L.Callback):
    """Looks at a fixed set of tanks every few steps, with the bare network on rank 0."""

    def __init__(self, every):
        self.every = every

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if trainer.global_step % self.every or not trainer.is_global_zero:
            return
        pl_module.net.eval()
        with torch.no_grad():
            for _ in range(10):
                pl_module.net(torch.randn(64, 6))
                time.sleep(0.1)
        pl_module.net.train()


class SlowArchive(L.Callback):
    """Writes the weights to the archive at the end of each epoch, in small pieces (the disk is old)."""

    def __init__(self, folder):
        self.folder = folder

    def on_train_epoch_end(self, trainer, pl_module):
        if trainer.is_global_zero:
            path = os.path.join(self.folder, f"epoch{trainer.current_epoch}.bin")
            data = torch.cat([p.detach().flatten() for p in pl_module.parameters()]).numpy().tobytes()
            with open(path, "wb") as file:
                for start in range(0, len(data), 32):
                    file.write(data[start:start + 32])
                    file.flush()
                    os.fsync(file.fileno())
                    time.sleep(0.1)
        trainer.strategy.barrier("archived")
