"""River-gauge records that come off a tape robot a few bytes at a time."""
import time

import torch
from torch.utils.data import IterableDataset, get_worker_info
from torchdata.stateful_dataloader import StatefulDataLoader


class GaugeArchive(IterableDataset):
    def __init__(self, station, records, seek=0.0, reads_per_record=3, read_time=0.01):
        self.station, self.records = station, records
        self.seek, self.reads, self.read_time = seek, reads_per_record, read_time
        self.position = 0

    def _mount(self):
        deadline = time.monotonic() + self.seek
        while time.monotonic() < deadline:
            time.sleep(0.05)

    def _read(self, index):
        gen = torch.Generator().manual_seed(self.station * 100_000 + index)
        parts = []
        for _ in range(self.reads):
            time.sleep(self.read_time)
            parts.append(torch.randn(8, generator=gen))
        series = torch.cat(parts)
        return series, series[-4:].mean()

    def __iter__(self):
        assert get_worker_info() is None or get_worker_info().num_workers == 1
        self._mount()
        while self.position < self.records:
            self.position += 1
            yield self._read(self.position - 1)
        self.position = 0

    def state_dict(self):
        return {"position": self.position}

    def load_state_dict(self, state):
        self.position = state["position"]


def make_loader(rank, records, batch_size):
    # the tapes of station 1 lie in the far robot
    archive = GaugeArchive(rank, records, seek=9.0 if rank == 1 else 0.5)
    return StatefulDataLoader(archive, batch_size=batch_size, num_workers=1, prefetch_factor=2)
