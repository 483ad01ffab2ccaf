import time

import lightning as L
import torch
from torch.utils.data import DataLoader, Dataset

TEAMS, WIDTH = 6, 24


class Tickets(Dataset):
    """Tickets of some desks; those without text are left out when the file is opened."""

    def __init__(self, desks, per_desk):
        texts = [(desk, n) for desk in desks for n in range(per_desk)]
        self.tickets = [(desk, n) for desk, n in texts if not self.empty(desk, n)]

    def empty(self, desk, number):
        return desk == 7 and number % 9 == 4

    def __len__(self):
        return len(self.tickets)

    def __getitem__(self, index):
        desk, number = self.tickets[index]
        time.sleep(0.004)
        generator = torch.Generator().manual_seed(1000 * desk + number)
        team = int(torch.randint(0, TEAMS, (1,), generator=generator))
        text = torch.randn(WIDTH, generator=generator)
        text[team] += 2.5
        return text, team


class TicketData(L.LightningDataModule):
    def __init__(self, desks=8, per_desk=480, batch_size=8):
        super().__init__()
        self.desks, self.per_desk, self.batch_size = desks, per_desk, batch_size

    def setup(self, stage):
        rank, world = self.trainer.global_rank, self.trainer.world_size
        self.tickets = Tickets(range(rank, self.desks, world), self.per_desk)

    def train_dataloader(self):
        return DataLoader(self.tickets, self.batch_size, shuffle=True)
