"""How many cars wait for the next ferry? One landing per rank, sailings in their order."""

import argparse

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from losses import MaskedPoisson, RelativeError, describe

LANDINGS = ["Corran", "Ardgour", "Lochaline"]
FEATURES = 10


class Sailings(Dataset):
    """Weather, season and time of day of a landing's sailings, with the counted cars (-1: not counted)."""

    def __init__(self, landing, count, seed, storm=None):
        g = torch.Generator().manual_seed(100 * seed + landing)
        w = torch.randn(FEATURES, generator=torch.Generator().manual_seed(1)) * 0.4
        self.features = torch.randn(count, FEATURES, generator=g)
        self.cars = torch.poisson((self.features @ w + 1.5).exp(), generator=g).long()
        # the counting loop misses a sailing now and then
        self.cars[torch.rand(count, generator=g) < 0.1] = -1
        if storm is not None:
            self.cars[storm[0] : storm[1]] = -1

    def __len__(self):
        return len(self.cars)

    def __getitem__(self, i):
        return self.features[i], self.cars[i]


class Landing(L.LightningDataModule):
    """The sailings of the landing that this rank stands for."""

    def __init__(self, sailings, batch):
        super().__init__()
        self.sailings, self.batch = sailings, batch

    def setup(self, stage):
        rank = self.trainer.global_rank
        storm = (410, 455) if LANDINGS[rank] == "Ardgour" else None
        self.train = Sailings(rank, self.sailings, seed=1, storm=storm)
        self.held_out = Sailings(rank, self.sailings // 5, seed=2)
        print(f"{LANDINGS[rank]}: {describe(self.train.cars)}", flush=True)

    def train_dataloader(self):
        return DataLoader(self.train, self.batch)

    def val_dataloader(self):
        return DataLoader(self.held_out, self.batch)


class Queues(L.LightningModule):
    def __init__(self, lr):
        super().__init__()
        self.automatic_optimization = False
        self.lr = lr
        self.net = nn.Sequential(nn.Linear(FEATURES, 32), nn.SiLU(), nn.Linear(32, 1))
        self.loss = MaskedPoisson()
        self.error = RelativeError()

    def forward(self, features):
        return self.net(features).squeeze(-1)

    def training_step(self, batch, batch_idx):
        features, cars = batch
        loss = self.loss(self(features), cars)
        if loss is None:
            # nothing to learn from this batch
            return
        optimizer = self.optimizers()
        optimizer.zero_grad()
        self.manual_backward(loss)
        self.clip_gradients(optimizer, gradient_clip_val=5.0, gradient_clip_algorithm="norm")
        optimizer.step()

    def validation_step(self, batch, batch_idx):
        features, cars = batch
        self.log("val_error", self.error(self(features), cars), sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.lr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sailings", type=int, default=800)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    L.seed_everything(8)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=len(LANDINGS),
        strategy="ddp",
        max_epochs=args.epochs,
        use_distributed_sampler=False,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        num_sanity_val_steps=0,
    )
    trainer.fit(Queues(args.lr), Landing(args.sailings, args.batch))
    if trainer.is_global_zero:
        print(f"validation error {trainer.callback_metrics['val_error'].item():.3f}", flush=True)


if __name__ == "__main__":
    main()
