"""Date the layers of bog cores from their pollen counts; one laboratory per rank."""

import argparse
import logging
import tempfile

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from memory import MemoryMaps

LABORATORIES = 3
TAXA = 24


class Layers(Dataset):
    """Pollen counts of layers and their ages; the laboratories take turns in the list.

    The third laboratory sent a long run of sub-samples of one single layer, its standard.
    """

    def __init__(self, per_laboratory, oldest, standards):
        g = torch.Generator().manual_seed(21)
        curves = torch.rand(TAXA, 3, generator=g)
        ages = torch.rand(per_laboratory, LABORATORIES, generator=g)
        first, last = standards
        ages[first:last, 2] = 0.35
        self.ages = (ages.flatten() * oldest).round() / oldest
        basis = torch.stack([torch.ones_like(self.ages), self.ages, self.ages**2])
        self.counts = (curves @ basis).T + 0.05 * torch.randn(len(self.ages), TAXA, generator=g)

    def __len__(self):
        return len(self.ages)

    def __getitem__(self, i):
        return self.counts[i], self.ages[i]


class Dating(L.LightningModule):
    def __init__(self, oldest, lr=3e-3):
        super().__init__()
        self.oldest = oldest
        self.lr = lr
        self.net = nn.Sequential(nn.Linear(TAXA, 48), nn.Tanh(), nn.Linear(48, 1))

    def training_step(self, batch, batch_idx):
        counts, ages = batch
        loss = nn.functional.smooth_l1_loss(self.net(counts).squeeze(-1), ages)
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.lr, momentum=0.9)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--layers", type=int, default=800, help="per laboratory")
    parser.add_argument("--oldest", type=float, default=9000)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(message)s")
    torch.set_num_threads(1)
    L.seed_everything(4)
    data = Layers(args.layers, args.oldest, standards=(340, 380))
    with tempfile.TemporaryDirectory(prefix="cores_") as folder:
        trainer = L.Trainer(
            accelerator="cpu",
            devices=LABORATORIES,
            strategy="ddp",
            max_epochs=args.epochs,
            callbacks=[MemoryMaps(folder)],
            use_distributed_sampler=False,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
        )
        # in the order of the list, so that each laboratory stays on its rank
        sampler = DistributedSampler(data, LABORATORIES, trainer.global_rank, shuffle=False)
        trainer.fit(Dating(args.oldest), DataLoader(data, args.batch, sampler=sampler))


if __name__ == "__main__":
    main()
