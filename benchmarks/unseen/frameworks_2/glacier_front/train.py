"""Gaussian-process style regression of glacier front positions with a learned feature map (Lightning)."""
import os

import lightning as L
import torch
from torch import nn

from fjords import FjordData
from numerics import tolerant


class FrontModel(L.LightningModule):
    def __init__(self, features=6, width=16, lr=1e-2):
        super().__init__()
        self.save_hyperparameters()
        self.automatic_optimization = False     # the learning rate is lowered within an epoch
        self.map = nn.Sequential(nn.Linear(features, width), nn.Tanh(), nn.Linear(width, width), nn.LayerNorm(width))
        self.mean = nn.Linear(features, 1)

    def forward(self, scenes):
        return self.map(scenes), self.mean(scenes).squeeze(1)

    @tolerant
    def training_step(self, batch, batch_idx):
        scenes, coverage, noise, front = batch
        features, mean = self(scenes)
        weighted = features * coverage[:, None]
        gram = weighted @ weighted.T / features.shape[1] + torch.diag(noise)
        factor = torch.linalg.cholesky(gram)
        resid = (front - mean)[:, None]
        fit = (resid * torch.cholesky_solve(resid, factor)).sum()
        loss = (fit + 2 * factor.diagonal().log().sum()) / len(front)

        optimizer = self.optimizers()
        optimizer.zero_grad()
        self.manual_backward(loss)
        optimizer.step()
        if batch_idx % 20 == 19:
            self.lr_schedulers().step()

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=self.hparams.lr)
        return [optimizer], [torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)]


def cli():
    L.seed_everything(17, verbose=False)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=int(os.environ.get("LOCAL_WORLD_SIZE", 1)),
        strategy="ddp",
        max_epochs=2,
        logger=False,
        use_distributed_sampler=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir="/tmp/glacier_front",
    )
    model = FrontModel()
    trainer.fit(model, datamodule=FjordData())
    trainer.print("skipped batches:", getattr(model, "skipped", 0))


if __name__ == "__main__":
    cli()
