import torch
from torch.utils.data import Dataset

TASKS = ("click", "dwell", "share")


class RegionLog(Dataset):
    """Feed impressions of one region in the order in which they happened.

    A label is NaN where the reaction could not be observed, e.g. because the
    client did not show the button.
    """

    share_button_until = {"apac": 192}

    def __init__(self, region, size=480):
        gen = torch.Generator().manual_seed(sum(map(ord, region)))
        self.features = torch.randn(size, 20, generator=gen)
        self.labels = torch.rand(size, len(TASKS), generator=gen).round()
        last = self.share_button_until.get(region)
        if last is not None:
            self.labels[last:, TASKS.index("share")] = float("nan")

    def __len__(self):
        return len(self.features)

    def __getitem__(self, index):
        return self.features[index], self.labels[index]
