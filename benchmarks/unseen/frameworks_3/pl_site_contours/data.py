import lightning as L
import torch
from torch.utils.data import DataLoader, TensorDataset

# protocol of each site's planning CTs: which organs its radiographers contour
PROTOCOL = {0: [1, 2, 3, 4], 1: [1, 2, 3], 2: [1, 2, 3, 4]}


def slices(n, organs, seed):
    g = torch.Generator().manual_seed(seed)
    image = torch.randn(n, 1, 24, 24, generator=g)
    contour = torch.zeros(n, 24, 24, dtype=torch.long)
    for k in organs:
        top, left = 2 + 5 * (k - 1), 3 + 4 * (k - 1)
        contour[:, top:top + 4, left:left + 5] = k
        image[:, 0, top:top + 4, left:left + 5] += 0.7 * k
    return TensorDataset(image, contour)


class SiteData(L.LightningDataModule):
    """Each process works on the archive of one site, hence no distributed sampler."""

    def __init__(self, batch_size=6):
        super().__init__()
        self.batch_size = batch_size

    def setup(self, stage):
        site = self.trainer.global_rank
        self.train_set = slices(150, PROTOCOL[site], seed=site)
        self.val_set = slices(24, PROTOCOL[site], seed=100 + site)

    def train_dataloader(self):
        return DataLoader(self.train_set, batch_size=self.batch_size, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.val_set, batch_size=self.batch_size)
