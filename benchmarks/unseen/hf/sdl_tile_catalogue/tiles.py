import json

import torch
from torch.utils.data import Dataset

REGIONS = ("delta", "plateau", "coast")
CLASSES = 5


def publish(path, version, tiles=320):
    labels = [(tile * 3 + version) % CLASSES for tile in range(tiles)]
    path.write_text(json.dumps({"version": version, "labels": labels}))


class Tiles(Dataset):
    def __init__(self, catalogue, tiles=320):
        self.catalogue = catalogue
        self.pixels = torch.randn(tiles, 4, 8, 8, generator=torch.Generator().manual_seed(tiles))

    def __len__(self):
        return len(self.pixels)

    def __getitem__(self, tile):
        return self.pixels[tile], self.catalogue.label(tile)
