"""Images of blood cells, reduced to a few measurements; some of them are blasts."""

import time

import torch
from torch.utils.data import DataLoader, Dataset

MEASURES = 10


class Slides(Dataset):
    """The slides of one laboratory, a batch for each slide."""

    def __init__(self, laboratory, slides, cells):
        self.laboratory, self.slides, self.cells = laboratory, slides, cells

    def __len__(self):
        return self.slides

    def blasts(self, slide):
        if self.laboratory == 3 and slide == 150:
            return 0  # a slide of a healthy donor, for the calibration of the microscope
        return 2 + (slide * 7 + self.laboratory) % 6

    def __getitem__(self, slide):
        time.sleep(0.045 + 0.02 * torch.rand(1).item())
        generator = torch.Generator().manual_seed(self.laboratory * 10_007 + slide)
        label = torch.zeros(self.cells)
        label[: self.blasts(slide)] = 1
        cells = torch.randn(self.cells, MEASURES, generator=generator)
        cells[:, 0] += 2 * label
        cells[:, 3] -= label
        return cells, label


def slides_of(laboratory, slides, cells=24):
    return DataLoader(Slides(laboratory, slides, cells), batch_size=None)
