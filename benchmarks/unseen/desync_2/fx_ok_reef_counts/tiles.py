import torch
from torch.utils.data import Dataset

CHANNELS = 3
SIZE = 12


class BrokenDive(RuntimeError):
    pass


class Dives(Dataset):
    """Frames of a dive with fish counts; a dive has 3 to 11 frames."""

    def __init__(self, n, site_count):
        self.n = n
        self.sites = site_count

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        frames = 3 + int(torch.randint(0, 6, (), generator=g))
        if i % self.sites == 1 and i % 40 > 32:
            frames += 3
        images = torch.rand(frames, CHANNELS, SIZE, SIZE, generator=g)
        counts = (images.mean((1, 2, 3)) * 20).round()
        visible = torch.rand(frames, generator=g) > (1.1 if i % 97 == 5 else 0.2)
        return {"images": images, "counts": counts, "visible": visible, "dive": i}


def read_dive(record):
    if record["dive"] % 211 == 14:
        raise BrokenDive(f"dive {record['dive']}: container damaged")
    return record["images"], record["counts"], record["visible"]
