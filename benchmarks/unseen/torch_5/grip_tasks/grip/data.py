from dataclasses import dataclass

import torch


@dataclass
class Episode:
    sensors: torch.Tensor
    pose: torch.Tensor
    force: torch.Tensor
    contact: torch.Tensor


def episodes(rank, count, size=10):
    """Robot `rank` alternates between reaching and grasping."""
    gen = torch.Generator().manual_seed(rank + 70)
    idle = {1: range(26, 29)}.get(rank, ())
    for number in range(count):
        sensors = torch.randn(size, 20, generator=gen)
        contact = sensors[:, 0] > -0.5
        contact[0] = True
        if number in idle:
            contact = torch.zeros(size, dtype=torch.bool)
        yield Episode(sensors, sensors[:, :6] * 0.5, sensors[:, 6:7].abs(), contact)
