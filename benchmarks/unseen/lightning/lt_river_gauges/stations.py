"""Names of the gauging stations and their place in the embedding table."""
import torch

STATIONS = [f"{river}-{km:03d}" for river in ("ISAR", "INN", "LECH") for km in range(10, 210, 20)]


class StationIndex:
    def __init__(self, names=STATIONS):
        self._position = {name: i for i, name in enumerate(names)}

    def __len__(self):
        return len(self._position)

    def encode(self, names) -> torch.Tensor:
        return torch.tensor([self._position[name] for name in names])
