import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence
from torchmetrics.classification import MulticlassAccuracy


class StarModel(L.LightningModule):
    def __init__(self, vocab_size: int, dim: int = 128, hidden: int = 256, lr: float = 2e-3, stars: int = 5):
        super().__init__()
        self.save_hyperparameters()
        self.embed = nn.Embedding(vocab_size, dim, padding_idx=0)
        self.rnn = nn.LSTM(dim, hidden, batch_first=True, bidirectional=True)
        self.head = nn.Sequential(nn.Dropout(0.3), nn.Linear(2 * hidden, stars))
        self.val_acc = MulticlassAccuracy(num_classes=stars, average="micro")

    def forward(self, ids, lengths):
        packed = pack_padded_sequence(
            self.embed(ids), lengths.cpu(), batch_first=True, enforce_sorted=False
        )
        _, (h, _) = self.rnn(packed)
        return self.head(torch.cat([h[-2], h[-1]], dim=-1))

    def training_step(self, batch, _):
        ids, lengths, stars = batch
        loss = F.cross_entropy(self(ids, lengths), stars)
        self.log("train/loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, _):
        ids, lengths, stars = batch
        logits = self(ids, lengths)
        self.val_acc(logits, stars)
        self.log("val/acc", self.val_acc, on_step=False, on_epoch=True, prog_bar=True)
        self.log("val/loss", F.cross_entropy(logits, stars), batch_size=len(stars), sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)
