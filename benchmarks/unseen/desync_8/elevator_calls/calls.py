"""Calls of the lifts of a building, cut into time slots."""

import time

import torch
from torch.utils.data import DataLoader, Dataset, Sampler

FLOORS = 12


class Calls(Dataset):
    def __init__(self, building, slots):
        self.slots = slots
        self.start, at = [], 0
        for slot in range(slots):
            self.start.append(at)
            at += self.busy(building, slot)
        self.start.append(at)
        self.building = building

    @staticmethod
    def busy(building, slot):
        """Calls that are kept of a slot: 16, or what there was."""
        drill = building == 2 and slot == 150
        return 4 if drill else 16

    def __len__(self):
        return self.start[-1]

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(self.building * 1_000_003 + index)
        floor = int(torch.randint(0, FLOORS, (1,), generator=generator))
        hour = torch.rand(1, generator=generator)
        target = (floor * 5 + int(hour * 4)) % FLOORS
        call = torch.zeros(FLOORS + 1)
        call[floor], call[FLOORS] = 1, hour
        return call, target


class BySlot(Sampler):
    """A batch is a slot, so that the calls of a batch belong together."""

    def __init__(self, calls):
        self.calls = calls

    def __len__(self):
        return self.calls.slots

    def __iter__(self):
        for slot in range(self.calls.slots):
            time.sleep(0.045 + 0.02 * torch.rand(1).item())
            yield list(range(self.calls.start[slot], self.calls.start[slot + 1]))


def slots_of(building, slots):
    calls = Calls(building, slots)
    return DataLoader(calls, batch_sampler=BySlot(calls))
