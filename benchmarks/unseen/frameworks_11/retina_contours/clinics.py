import lightning as L
import torch
from torch.utils.data import DataLoader, Dataset

WITHOUT_CONTOUR = {2: 10}  # patients of the newest visits whose contours are still to be drawn, by clinic


class Archive(Dataset):
    """Fundus images of a clinic in the order of the visits; a contour of -1 has not been drawn."""

    def __init__(self, patients: int, clinic: int, undrawn: int = 0):
        g = torch.Generator().manual_seed(100 + clinic)
        self.grade = torch.randint(0, 4, (patients,), generator=g)
        self.image = torch.randn(patients, 1, 32, 32, generator=g) + self.grade[:, None, None, None] * 0.3
        self.contour = (self.image > 1.0).float()
        if undrawn:
            self.contour[-undrawn:] = -1

    def __len__(self):
        return len(self.grade)

    def __getitem__(self, i):
        return {"image": self.image[i], "grade": self.grade[i], "contour": self.contour[i]}


class ClinicData(L.LightningDataModule):
    def __init__(self, patients: int, batch_size: int):
        super().__init__()
        self.patients = patients
        self.batch_size = batch_size

    def setup(self, stage):
        clinic = self.trainer.global_rank
        self.train_set = Archive(self.patients, clinic, WITHOUT_CONTOUR.get(clinic, 0))
        self.val_set = Archive(64, clinic + 10)

    def train_dataloader(self):
        return DataLoader(self.train_set, batch_size=self.batch_size)

    def val_dataloader(self):
        return DataLoader(self.val_set, batch_size=16)
