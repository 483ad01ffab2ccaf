import struct

import lightning as L
import torch
from torch.utils.data import DataLoader, Dataset, DistributedSampler

LAYOUT = struct.Struct("<I12f")


class Telemetry(Dataset):
    """Packets as received from the ground station: a counter and twelve channels, little endian."""

    def __init__(self, count: int):
        g = torch.Generator().manual_seed(99)
        mix = torch.randn(3, 12, generator=g)
        values = torch.randn(count, 3, generator=g) @ mix + 0.05 * torch.randn(count, 12, generator=g)
        self.raw = [LAYOUT.pack(i, *row) for i, row in enumerate(values.tolist())]
        self.raw[7216] = self.raw[7216][:41]  # loss of signal in the middle of a packet

    def __len__(self):
        return len(self.raw)

    def __getitem__(self, i):
        counter, *channels = self.decode(self.raw[i])
        return torch.tensor(channels)

    @staticmethod
    def decode(packet: bytes):
        return LAYOUT.unpack(packet)


class PacketData(L.LightningDataModule):
    """Packets stay in the order in which they came; the workers take them in turn."""

    def __init__(self, count: int, batch_size: int):
        super().__init__()
        self.count = count
        self.batch_size = batch_size

    def setup(self, stage: str):
        self.telemetry = Telemetry(self.count)

    def train_dataloader(self):
        sampler = DistributedSampler(self.telemetry, shuffle=False)
        return DataLoader(self.telemetry, batch_size=self.batch_size, sampler=sampler)
