import torch
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class MelClips(Dataset):
    """Log-mel clips with one tag each; the tag sets the dominant band."""

    def __init__(self, split, n, bands=32, frames=48, tags=8):
        seed = {"train": 0, "val": 1, "test": 2}[split]
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(tags, (n,), generator=g)
        self.mels = torch.randn(n, 1, bands, frames, generator=g)
        width = bands // tags
        for i, tag in enumerate(self.labels.tolist()):
            self.mels[i, 0, tag * width : (tag + 1) * width] += 0.5

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.mels[i], self.labels[i]


def loader(split, n, batch_size, workers=0):
    ds = MelClips(split, n)
    train = split == "train"
    sampler = DistributedSampler(ds, shuffle=train, drop_last=train)
    return DataLoader(ds, batch_size, sampler=sampler, num_workers=workers, drop_last=train)
