import time

import torch
from torch.utils.data import Dataset, get_worker_info

FIELDS = 10
# receiver -> number of scenes recorded
RECORDED = {0: 170, 1: 150, 2: 163}
# scenes that are still on tape: (receiver, scene) -> seconds to wind it
ON_TAPE = {(2, 70): 5.0}


class Scenes(Dataset):
    """One item is one sweep of a receiver, with as many tracks as there were aircraft in sight."""

    def __init__(self, receiver):
        self.receiver = receiver
        self.speeds = torch.randn(FIELDS, 2, generator=torch.Generator().manual_seed(31))

    def __len__(self):
        return RECORDED[self.receiver]

    def __getitem__(self, index):
        time.sleep(ON_TAPE.get((self.receiver, index), 0.004))
        g = torch.Generator().manual_seed(10_000 * self.receiver + index)
        tracks = int(torch.randint(20, 150 - 30 * self.receiver, (1,), generator=g))
        x = torch.randn(tracks, FIELDS, generator=g)
        return x, x @ self.speeds + 0.1 * torch.randn(tracks, 2, generator=g)


def open_archive(worker_id):
    """Receiver 1 has an old archive without a table of contents, which each worker has to read through."""
    pages = 300 if get_worker_info().dataset.receiver == 1 else 5
    for _ in range(pages):
        time.sleep(0.02)
