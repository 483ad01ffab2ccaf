import argparse

import lightning as L
import torch
import torch.nn.functional as F
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from torch import nn

from data import PAD, ReviewData


class ReviewClassifier(L.LightningModule):
    def __init__(self, vocab_size, dim=64, classes=5, lr=2e-3):
        super().__init__()
        self.save_hyperparameters()
        self.embed = nn.Embedding(vocab_size, dim, padding_idx=PAD)
        self.conv = nn.Conv1d(dim, dim, 5, padding=2)
        self.drop = nn.Dropout(0.3)
        self.out = nn.Linear(dim, classes)

    def forward(self, ids):
        x = self.embed(ids).transpose(1, 2)
        return self.out(self.drop(F.relu(self.conv(x)).amax(2)))

    def training_step(self, batch, batch_idx):
        ids, stars = batch
        loss = F.cross_entropy(self(ids), stars)
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, batch_idx):
        ids, stars = batch
        logits = self(ids)
        self.log("val_loss", F.cross_entropy(logits, stars), prog_bar=True, sync_dist=True)
        self.log("val_mae", (logits.argmax(1) - stars).abs().float().mean(), sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", required=True)
    p.add_argument("--accelerator", default="auto")
    p.add_argument("--devices", type=int, default=2)
    p.add_argument("--nodes", type=int, default=1)
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--vocab-size", type=int, default=20000)
    args = p.parse_args()

    L.seed_everything(5, workers=True)
    data = ReviewData(args.data, vocab_size=args.vocab_size)
    model = ReviewClassifier(args.vocab_size)
    trainer = L.Trainer(
        accelerator=args.accelerator, devices=args.devices, num_nodes=args.nodes, strategy="ddp",
        max_epochs=args.epochs, gradient_clip_val=1.0, log_every_n_steps=5,
        callbacks=[ModelCheckpoint(monitor="val_mae"), EarlyStopping("val_mae", patience=4)])
    trainer.fit(model, datamodule=data)


if __name__ == "__main__":
    main()
