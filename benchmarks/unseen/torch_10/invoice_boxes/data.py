import torch
from torch.utils.data import Dataset

# scanned upside down: their annotations name the corners the other way round
ROTATED = {217}


class Invoices(Dataset):
    def __init__(self, count=900, features=24):
        g = torch.Generator().manual_seed(2)
        center = 0.3 + 0.4 * torch.rand(count, 2, generator=g)
        extent = 0.05 + 0.1 * torch.rand(count, 2, generator=g)
        self.boxes = torch.cat([center - extent, center + extent], dim=1)
        mix = torch.randn(4, features, generator=g)
        self.pages = self.boxes @ mix + 0.02 * torch.randn(count, features, generator=g)
        for index in ROTATED:
            self.boxes[index] = self.boxes[index][[2, 3, 0, 1]]

    def __len__(self):
        return len(self.pages)

    def __getitem__(self, index):
        return self.pages[index], self.boxes[index]
