# Tabular baseline for the store-demand task. One process per worker, started by Lightning itself.
import time

import lightning.pytorch as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from callbacks import build

CONFIG = {
    "seed": 20,
    "callbacks": {"StepPrinter": {"every": 10}, "BestKeeper": {"top": 3}},
    "trainer": dict(accelerator="cpu", devices=2, strategy="ddp", max_epochs=3, logger=False,
                    enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False),
}


class Demand(pl.LightningModule):
    def __init__(self, stores=40):
        super().__init__()
        self.store = nn.Embedding(stores, 8)
        self.mlp = nn.Sequential(nn.Linear(8 + 7, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, store, features):
        return self.mlp(torch.cat([self.store(store), features], -1)).squeeze(-1)

    def training_step(self, batch, batch_idx):
        store, features, sold = batch
        time.sleep(0.02)
        return nn.functional.mse_loss(self(store, features), sold)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-2)


def demand_frame(n=480):
    g = torch.Generator().manual_seed(6)
    store = torch.randint(0, 40, (n,), generator=g)
    features = torch.rand(n, 7, generator=g)
    sold = features.sum(-1) + 3.0
    return TensorDataset(store, features, sold)


if __name__ == "__main__":
    pl.seed_everything(CONFIG["seed"])
    trainer = pl.Trainer(callbacks=build(CONFIG["callbacks"]), **CONFIG["trainer"])
    trainer.fit(Demand(), DataLoader(demand_frame(), batch_size=8, shuffle=True))
    print("rank", trainer.global_rank, "finished", flush=True)
