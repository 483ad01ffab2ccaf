import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F


class M5(nn.Module):
    def __init__(self, n_classes, width=32):
        super().__init__()
        chans = [1, width, width, 2 * width, 2 * width]
        layers = []
        for i, (cin, cout) in enumerate(zip(chans[:-1], chans[1:])):
            kernel, stride = (80, 16) if i == 0 else (3, 1)
            layers += [nn.Conv1d(cin, cout, kernel, stride), nn.BatchNorm1d(cout), nn.ReLU(), nn.MaxPool1d(4)]
        self.body = nn.Sequential(*layers)
        self.fc = nn.Linear(chans[-1], n_classes)

    def forward(self, x):
        return self.fc(self.body(x).mean(-1))


class KeywordSpotter(L.LightningModule):
    def __init__(self, n_classes=35, lr=1e-2, weight_decay=1e-4, warmup_epochs=2, max_epochs=60):
        super().__init__()
        self.save_hyperparameters()
        self.net = M5(n_classes)

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.cross_entropy(self(x), y, label_smoothing=0.1)
        self.log("train/loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        logits = self(x)
        acc = (logits.argmax(1) == y).float().mean()
        self.log("val/loss", F.cross_entropy(logits, y), sync_dist=True, batch_size=len(y))
        self.log("val/acc", acc, prog_bar=True, sync_dist=True, batch_size=len(y))

    def configure_optimizers(self):
        h = self.hparams
        optimizer = torch.optim.AdamW(self.parameters(), lr=h.lr, weight_decay=h.weight_decay)
        warmup = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, total_iters=h.warmup_epochs)
        cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, h.max_epochs - h.warmup_epochs)
        scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [warmup, cosine], [h.warmup_epochs])
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "epoch"}}
