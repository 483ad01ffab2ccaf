"""Whistled commands to a sheepdog: pitch contours and a model that tells the commands apart."""

import time

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchmetrics.classification import MulticlassConfusionMatrix

COMMANDS = ["come by", "away", "walk up", "lie down", "that'll do"]
FRAMES = 30


class Whistles(Dataset):
    def __init__(self, count, seed, breath):
        g = torch.Generator().manual_seed(seed)
        shapes = torch.randn(len(COMMANDS), FRAMES, generator=torch.Generator().manual_seed(0)).cumsum(1) / 5
        self.command = torch.randint(0, len(COMMANDS), (count,), generator=g)
        self.contour = shapes[self.command] + breath * torch.randn(count, FRAMES, generator=g)

    def __len__(self):
        return len(self.command)

    def __getitem__(self, i):
        return self.contour[i], self.command[i]


class Field(L.LightningDataModule):
    def __init__(self, count, batch):
        super().__init__()
        self.count, self.batch = count, batch

    def setup(self, stage):
        self.training = Whistles(self.count, seed=1, breath=0.9)
        self.trial = Whistles(self.count // 5, seed=2, breath=1.1)

    def train_dataloader(self):
        return DataLoader(self.training, self.batch, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.trial, self.batch)


class CommandModel(L.LightningModule):
    def __init__(self, lr=2e-3):
        super().__init__()
        self.lr = lr
        self.net = nn.Sequential(nn.Linear(FRAMES, 40), nn.ReLU(), nn.Linear(40, len(COMMANDS)))
        self.confusion = MulticlassConfusionMatrix(len(COMMANDS))

    def training_step(self, batch, batch_idx):
        contour, command = batch
        time.sleep(0.02)  # pitch tracking
        return nn.functional.cross_entropy(self.net(contour), command)

    def validation_step(self, batch, batch_idx):
        contour, command = batch
        logits = self.net(contour)
        self.confusion.update(logits, command)
        self.log("trial_loss", nn.functional.cross_entropy(logits, command), sync_dist=True)

    def on_validation_epoch_end(self):
        self.confusion.reset()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)
