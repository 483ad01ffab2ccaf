"""A copy of the weights for the foundry, made by a child process on the first rank."""

import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from lightning.pytorch.callbacks import Callback

CHECK = """
import sys, time, zlib
data = open(sys.argv[1], "rb").read()
for _ in range(20):
    time.sleep(0.2)
print(zlib.crc32(data))
"""


class MasterCopy(Callback):
    """Every `every` epochs: written by rank 0, read back and summed in a child; the others wait in a barrier."""

    def __init__(self, every):
        self.every = every

    def on_train_epoch_end(self, trainer, pl_module):
        if trainer.current_epoch % self.every == 0:
            if trainer.is_global_zero:
                with tempfile.TemporaryDirectory() as folder:
                    path = Path(folder) / "bells.pt"
                    torch.save(pl_module.state_dict(), path)
                    subprocess.run([sys.executable, "-c", CHECK, str(path)], check=True, capture_output=True)
            trainer.strategy.barrier("master copy")
