import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from torchmetrics.classification import MulticlassAccuracy


class Tagger(L.LightningModule):
    def __init__(self, max_words, num_tags, dim=128, lr=1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.emb = nn.Embedding(max_words, dim, padding_idx=0)
        self.rnn = nn.LSTM(dim, dim, bidirectional=True, batch_first=True)
        self.out = nn.Linear(2 * dim, num_tags)
        self.val_acc = MulticlassAccuracy(num_tags, average="micro", ignore_index=-100)

    def forward(self, x):
        h, _ = self.rnn(self.emb(x))
        return self.out(h)

    def training_step(self, batch, _):
        x, y = batch
        loss = F.cross_entropy(self(x).flatten(0, 1), y.flatten(), ignore_index=-100)
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        logits = self(x)
        self.val_acc(logits.flatten(0, 1), y.flatten())
        self.log("val_acc", self.val_acc, on_epoch=True, prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
