import lightning as L
import torch
from torch.utils.data import DataLoader, Dataset


class Defects(Dataset):
    """Grey patches of a surface with one of five synthetic defect patterns."""

    def __init__(self, n, seed, size=32):
        g = torch.Generator().manual_seed(seed)
        self.y = torch.randint(5, (n,), generator=g)
        self.x = torch.randn(n, 1, size, size, generator=g)
        stripe = torch.sin(torch.arange(size) * 1.2)
        for i, k in enumerate(self.y.tolist()):
            if k == 1:
                self.x[i, 0] += stripe
            elif k == 2:
                self.x[i, 0] += stripe[:, None]
            elif k == 3:
                self.x[i, 0, 8:24, 8:24] += 1
            elif k == 4:
                self.x[i, 0].fill_diagonal_(4)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class DefectData(L.LightningDataModule):
    def __init__(self, batch_size=64, num_workers=2, train_size=8000, val_size=1000):
        super().__init__()
        self.save_hyperparameters()

    def setup(self, stage):
        self.train = Defects(self.hparams.train_size, seed=0)
        self.val = Defects(self.hparams.val_size, seed=1)

    def _loader(self, ds, **kw):
        return DataLoader(ds, self.hparams.batch_size, num_workers=self.hparams.num_workers, pin_memory=True, **kw)

    def train_dataloader(self):
        return self._loader(self.train, shuffle=True, drop_last=True)

    def val_dataloader(self):
        return self._loader(self.val)
