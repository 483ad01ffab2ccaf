import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from torchmetrics.classification import MulticlassAccuracy


class Tagger(L.LightningModule):
    def __init__(self, vocab_size, num_tags, dim=128, lr=1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.embed = nn.Embedding(vocab_size, dim, padding_idx=0)
        self.lstm = nn.LSTM(dim, dim, batch_first=True, bidirectional=True)
        self.drop = nn.Dropout(0.3)
        self.head = nn.Linear(2 * dim, num_tags)
        self.val_acc = MulticlassAccuracy(num_tags, average="micro", ignore_index=-100)

    def forward(self, words):
        out, _ = self.lstm(self.drop(self.embed(words)))
        return self.head(self.drop(out))

    def training_step(self, batch, batch_idx):
        words, tags = batch
        loss = F.cross_entropy(self(words).flatten(0, 1), tags.flatten(), ignore_index=-100)
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, batch_idx):
        words, tags = batch
        logits = self(words)
        loss = F.cross_entropy(logits.flatten(0, 1), tags.flatten(), ignore_index=-100)
        self.val_acc.update(logits.argmax(-1).flatten(), tags.flatten())
        self.log("val_loss", loss, sync_dist=True, batch_size=words.size(0))
        self.log("val_acc", self.val_acc, prog_bar=True)

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(
            optimizer, T_max=self.trainer.estimated_stepping_batches
        )
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}
