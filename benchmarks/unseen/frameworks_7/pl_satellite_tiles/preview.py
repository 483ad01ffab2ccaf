import lightning as L
import torch
from lightning.pytorch.utilities import rank_zero_only


class SegmentationPreview(L.Callback):
    """Write the class maps of a few fixed tiles every now and then."""

    def __init__(self, samples, folder, every):
        self.samples = samples
        self.folder = folder
        self.every = every

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if trainer.global_step % self.every == 0:
            self._draw(trainer, trainer.global_step)
            trainer.strategy.barrier("preview")

    @rank_zero_only
    def _draw(self, trainer, step):
        net = trainer.model
        net.eval()
        with torch.no_grad():
            maps = net(self.samples).argmax(1)
        net.train()
        self.folder.mkdir(parents=True, exist_ok=True)
        torch.save(maps.to(torch.uint8), self.folder / f"step{step:05d}.pt")
