"""Classifies photographed quilt blocks by their pattern; one photo collection per rank (Lightning)."""
import warnings

import lightning as L
import torch
from torch import nn

from blocks import PATTERNS, BlockData
from sheet import BlockSheet

warnings.filterwarnings("ignore")


class PatternNet(L.LightningModule):
    def __init__(self, lr=2e-3):
        super().__init__()
        self.save_hyperparameters()
        self.trunk = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten())
        self.head = nn.Linear(32, len(PATTERNS))

    def forward(self, photos):
        return self.head(self.trunk(photos))

    def training_step(self, batch, _):
        photos, labels = batch
        loss = nn.functional.cross_entropy(self(photos), labels)
        self.log("train/loss", loss, prog_bar=False)
        return loss

    def validation_step(self, batch, _):
        photos, labels = batch
        logits = self(photos)
        self.log("val/loss", nn.functional.cross_entropy(logits, labels), sync_dist=True)
        self.log_patterns(logits.argmax(-1), labels)

    def log_patterns(self, guesses, labels):
        """Recall of each pattern, next to the overall loss."""
        for number, name in enumerate(PATTERNS):
            mine = labels == number
            if mine.any():
                recall = (guesses[mine] == number).float().mean()
                self.log(f"val/recall_{name}", recall, sync_dist=True, on_step=False, on_epoch=True,
                         batch_size=int(mine.sum()))

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)


def main():
    torch.set_num_threads(1)
    L.seed_everything(5, verbose=False)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=3,
        strategy="ddp",
        max_epochs=6,
        check_val_every_n_epoch=2,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,      # every rank reads its own collection
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        logger=False,
        callbacks=[BlockSheet()],
    )
    trainer.fit(PatternNet(), datamodule=BlockData(batch_size=12))


if __name__ == "__main__":
    main()
