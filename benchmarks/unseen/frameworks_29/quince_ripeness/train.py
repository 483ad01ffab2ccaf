import os
import tempfile

import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader

from fruit import Quinces
from spot import NodeAgent, SpotGuard


class Firmness(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(24, 48), nn.SiLU(), nn.Linear(48, 1))

    def training_step(self, batch, _):
        spectra, firmness = batch
        loss = F.mse_loss(self.net(spectra), firmness)
        self.log("loss", loss, on_step=True)
        return loss

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=3e-3)
        return [optimizer], [torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 20)]


def main():
    torch.set_num_threads(1)
    L.seed_everything(9)
    root = os.environ.setdefault("QUINCE_ROOT", tempfile.mkdtemp(prefix="quince_"))
    trainer = L.Trainer(
        accelerator="cpu", devices=3, strategy="ddp", max_epochs=20, default_root_dir=root, callbacks=[SpotGuard()],
        enable_checkpointing=False, logger=False, enable_progress_bar=False, enable_model_summary=False)
    model = Firmness()
    if trainer.local_rank == 2:
        agent = NodeAgent(seconds=12)             # this machine is the cheap one
    trainer.fit(model, DataLoader(Quinces(), batch_size=8, shuffle=True, drop_last=True))
    trainer.save_checkpoint(os.path.join(root, "last.ckpt"))
    if trainer.is_global_zero:
        print("stopped in epoch", trainer.current_epoch, "after", trainer.global_step, "steps")


if __name__ == "__main__":
    main()
