import lightning as L
import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset, random_split


class KeywordData(L.LightningDataModule):
    def __init__(self, manifest, batch_size=64, num_workers=4, seed=0):
        super().__init__()
        self.save_hyperparameters()

    def setup(self, stage=None):
        archive = np.load(self.hparams.manifest)
        audio = torch.from_numpy(archive["audio"]).float().unsqueeze(1)
        label = torch.from_numpy(archive["label"]).long()
        full = TensorDataset(audio, label)
        n_val = len(full) // 10
        generator = torch.Generator().manual_seed(self.hparams.seed)
        self.train_set, self.val_set = random_split(full, [len(full) - n_val, n_val], generator)

    def _loader(self, dataset, train):
        return DataLoader(
            dataset,
            batch_size=self.hparams.batch_size,
            shuffle=train,
            drop_last=train,
            num_workers=self.hparams.num_workers,
            persistent_workers=self.hparams.num_workers > 0,
            pin_memory=True,
        )

    def train_dataloader(self):
        return self._loader(self.train_set, train=True)

    def val_dataloader(self):
        return self._loader(self.val_set, train=False)
