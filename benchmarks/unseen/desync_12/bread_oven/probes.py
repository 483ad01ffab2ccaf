"""Readings of the probes in the ovens of a bakery."""

import random
import time

import lightning as L
import torch
from torch.utils.data import DataLoader, Dataset

PROBES = 12


class ProbeTimeout(Exception):
    pass


class OvenLog(Dataset):
    """The log of one oven; a record is asked for again when the logger does not answer at once."""

    def __init__(self, oven, records, attempts=4):
        self.oven, self.records, self.attempts = oven, records, attempts
        self.random = random.Random(oven)
        self.again = 0

    def __len__(self):
        return self.records

    def ask(self, index, attempt):
        time.sleep(0.006 + 0.003 * self.random.random())
        if self.oven == 1 and index % 611 == 400 and attempt < 3:
            time.sleep(0.25)
            raise ProbeTimeout(f"oven {self.oven}, record {index}")
        generator = torch.Generator().manual_seed(self.oven * 9_000 + index)
        probes = torch.rand(PROBES, generator=generator)
        return probes, probes[:4].mean().reshape(1)

    def __getitem__(self, index):
        for attempt in range(1, self.attempts + 1):
            try:
                return self.ask(index, attempt)
            except ProbeTimeout:
                self.again += 1
        raise RuntimeError(f"record {index} of oven {self.oven} cannot be read")


class Bakery(L.LightningDataModule):
    def __init__(self, records=1_040, batch_size=8):
        super().__init__()
        self.records, self.batch_size = records, batch_size

    def setup(self, stage):
        self.log_of_oven = OvenLog(self.trainer.global_rank, self.records)

    def train_dataloader(self):
        return DataLoader(self.log_of_oven, self.batch_size, drop_last=True)
