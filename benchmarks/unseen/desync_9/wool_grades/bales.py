"""Fibres of wool, bale by bale; the fibres of a bale have one length."""

import random
import time

import torch
from torch.utils.data import Dataset

PER_BATCH, PROFILE = 6, 16


class Bales(Dataset):
    """Micro-batches of a shed: fibres cut to segments, with the grade of the bale."""

    def __init__(self, shed, count):
        self.shed, self.count = shed, count
        self.random = random.Random(900 + shed)

    def __len__(self):
        return self.count

    def segments(self, index):
        """Merino has longer fibres than crossbred; one shed has it at the end of the season."""
        merino = self.shed == 1 and index >= 480
        return 14 if merino else 10

    def __getitem__(self, index):
        time.sleep(0.016 + 0.006 * self.random.random())
        generator = torch.Generator().manual_seed(index * 8 + self.shed)
        grades = torch.randint(0, 4, (PER_BATCH,), generator=generator)
        fibres = torch.randn(PER_BATCH, self.segments(index), PROFILE, generator=generator)
        return fibres + 0.5 * grades.view(-1, 1, 1), grades


class Grader(torch.nn.Module):
    def __init__(self, width=24, grades=4):
        super().__init__()
        self.profile = torch.nn.Linear(PROFILE, width)
        self.grade = torch.nn.Linear(width, grades)

    def forward(self, fibres):
        return self.grade(torch.relu(self.profile(fibres)).mean(1))
