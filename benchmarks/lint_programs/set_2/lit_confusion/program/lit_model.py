from pathlib import Path

import lightning as L
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import torch
from lightning.pytorch.utilities import rank_zero_only
from torch import nn
from torchmetrics import MetricCollection
from torchmetrics.classification import MulticlassAccuracy, MulticlassConfusionMatrix, MulticlassF1Score
from torchvision.models import resnet50


class LeafClassifier(L.LightningModule):
    def __init__(self, num_classes: int = 38, lr: float = 5e-4, weight_decay: float = 0.05, fig_dir: str = "figs"):
        super().__init__()
        self.save_hyperparameters()
        self.net = resnet50(num_classes=num_classes)
        self.criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
        scores = MetricCollection(
            {
                "acc": MulticlassAccuracy(num_classes, average="micro"),
                "f1": MulticlassF1Score(num_classes, average="macro"),
            }
        )
        self.train_scores = scores.clone(prefix="train/")
        self.val_scores = scores.clone(prefix="val/")
        self.confusion = MulticlassConfusionMatrix(num_classes, normalize="true")

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        logits = self(x)
        loss = self.criterion(logits, y)
        self.train_scores(logits, y)
        self.log("train/loss", loss, prog_bar=True)
        self.log_dict(self.train_scores, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        logits = self(x)
        self.log("val/loss", self.criterion(logits, y), sync_dist=True)
        self.val_scores.update(logits, y)
        self.confusion.update(logits, y)
        self.log_dict(self.val_scores, on_step=False, on_epoch=True)

    @rank_zero_only
    def on_validation_epoch_end(self):
        cm = self.confusion.compute().cpu()
        self.confusion.reset()
        if not self.trainer.sanity_checking:
            self.draw_confusion(cm)

    @rank_zero_only
    def draw_confusion(self, cm: torch.Tensor):
        out = Path(self.hparams.fig_dir)
        out.mkdir(parents=True, exist_ok=True)
        fig, ax = plt.subplots(figsize=(9, 9))
        im = ax.imshow(cm.numpy(), cmap="viridis", vmin=0, vmax=1)
        fig.colorbar(im, ax=ax)
        ax.set_xlabel("predicted")
        ax.set_ylabel("true")
        fig.savefig(out / f"cm_{self.current_epoch:03d}.png", dpi=120)
        plt.close(fig)

    def configure_optimizers(self):
        opt = torch.optim.AdamW(
            self.parameters(), lr=self.hparams.lr, weight_decay=self.hparams.weight_decay
        )
        sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=self.trainer.max_epochs)
        return [opt], [sched]
