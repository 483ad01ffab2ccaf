"""Sales of a spice market, read stall by stall; every process reads the stalls that are its own."""

import time

import lightning as L
import torch
from torch.utils.data import DataLoader, Dataset

SPICES = ["anise", "caraway", "cardamom", "cinnamon", "clove", "cumin", "fennel", "mace", "saffron", "sumac"]


def ledger(stall, sales):
    """(spice, grams, hour) of each sale. The stalls by the gate do without the dearest ware."""
    g = torch.Generator().manual_seed(40 + stall)
    ware = [s for s in SPICES if s != "saffron"] if stall % 3 == 2 else SPICES
    for _ in range(sales):
        spice = ware[int(torch.randint(0, len(ware), (), generator=g))]
        grams = float(20 + 80 * torch.rand((), generator=g))
        hour = float(6 + 12 * torch.rand((), generator=g))
        yield spice, grams, hour


class Sales(Dataset):
    def __init__(self, rows, spices):
        place = {spice: i for i, spice in enumerate(spices)}
        self.spice = torch.tensor([place[spice] for spice, _, _ in rows])
        self.hour = torch.tensor([hour / 24 for _, _, hour in rows])
        self.grams = torch.tensor([grams / 100 for _, grams, _ in rows])

    def __len__(self):
        return len(self.spice)

    def __getitem__(self, i):
        return self.spice[i], self.hour[i], self.grams[i]


class Market(L.LightningDataModule):
    """`spices` is the vocabulary of the model; it is known after setup()."""

    def __init__(self, stalls, sales, batch):
        super().__init__()
        self.stalls = stalls
        self.sales = sales
        self.batch = batch
        self.spices = None

    def own_stalls(self):
        return range(self.trainer.global_rank, self.stalls, self.trainer.world_size)

    def setup(self, stage):
        if self.spices is not None:
            return
        rows = []
        for stall in self.own_stalls():
            time.sleep(0.4)  # the ledger is a scan
            rows.extend(ledger(stall, self.sales))
        self.spices = sorted({spice for spice, _, _ in rows})
        self.train = Sales(rows, self.spices)

    def train_dataloader(self):
        return DataLoader(self.train, self.batch, shuffle=True)
