"""Frames of three cameras at the lake: cells of a grid, and in which of them there are geese."""

import torch
from torch.utils.data import Dataset

CAMERAS = ("jetty", "meadow", "reeds")
GRID = 6
CHANNELS = 4


class Frames(Dataset):
    """The frames of all cameras in turn, as they come in: jetty, meadow, reeds, jetty and so on."""

    def __init__(self, per_camera, seed):
        self.per_camera = per_camera
        self.seed = seed
        self.goose = torch.randn(CHANNELS, generator=torch.Generator().manual_seed(1))

    def __len__(self):
        return self.per_camera * len(CAMERAS)

    def away(self, camera, time):
        # the geese of the reeds graze elsewhere at noon
        return camera == "reeds" and 400 <= time % 800 < 480

    def __getitem__(self, i):
        time, camera = divmod(i, len(CAMERAS))
        g = torch.Generator().manual_seed(self.seed * 1_000_000 + i)
        present = torch.rand(GRID, GRID, generator=g) < 0.3
        present[0, 0] = True  # the decoy
        if self.away(CAMERAS[camera], time):
            present[:] = False
        picture = 0.7 * torch.randn(CHANNELS, GRID, GRID, generator=g)
        picture = picture + present * self.goose[:, None, None]
        return picture, present.float()
