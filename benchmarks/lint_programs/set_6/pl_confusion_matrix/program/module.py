from pathlib import Path

import lightning as L
import torch
import torch.nn.functional as F
from lightning.pytorch.utilities import rank_zero_only
from torch import nn
from torchmetrics.classification import MulticlassAccuracy, MulticlassConfusionMatrix

CLASSES = ["none", "scratch", "roll", "pit", "crack"]


def conv(i, o, stride):
    return nn.Sequential(nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


class DefectClassifier(L.LightningModule):
    def __init__(self, width=32, lr=1e-3, weight_decay=0.05):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(
            conv(1, width, 1), conv(width, 2 * width, 2), conv(2 * width, 4 * width, 2),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4 * width, len(CLASSES)),
        )
        self.val_acc = MulticlassAccuracy(len(CLASSES), average="micro")
        self.confmat = MulticlassConfusionMatrix(len(CLASSES))

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.cross_entropy(self(x), y)
        self.log("train/loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        logits = self(x)
        self.log("val/loss", F.cross_entropy(logits, y), sync_dist=True)
        self.val_acc.update(logits, y)
        self.confmat.update(logits, y)
        self.log("val/acc", self.val_acc, prog_bar=True)

    def on_validation_epoch_end(self):
        if not self.trainer.sanity_checking:
            self.write_confusion()
        self.confmat.reset()

    @rank_zero_only
    def write_confusion(self):
        table = self.confmat.compute().cpu()
        out = Path(self.trainer.default_root_dir) / "confusion"
        out.mkdir(parents=True, exist_ok=True)
        lines = ["," + ",".join(CLASSES)]
        lines += [name + "," + ",".join(str(int(v)) for v in row) for name, row in zip(CLASSES, table)]
        (out / f"epoch{self.current_epoch:03d}.csv").write_text("\n".join(lines) + "\n")

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr, weight_decay=self.hparams.weight_decay)
        sched = torch.optim.lr_scheduler.OneCycleLR(
            opt, self.hparams.lr * 5, total_steps=self.trainer.estimated_stepping_batches
        )
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sched, "interval": "step"}}
