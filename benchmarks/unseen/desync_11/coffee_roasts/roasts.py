import time

import torch
from torch.utils.data import Dataset

CURVE = 24


class Session(Dataset):
    """The roasts of one drum in one session: temperature curves, the bean temperature at the end, and the colour."""

    def __init__(self, drum, session, roasts):
        self.drum, self.session, self.roasts = drum, session, roasts

    def __len__(self):
        return self.roasts

    def end_temperature(self, roast):
        heat = 219.0 + 4.0 * (roast % 7) / 7
        if self.drum == 2 and self.session == 2 and roast >= 45:
            heat += 3.0 * (roast - 44)  # the valve of the third drum stuck open in the afternoon
        return heat

    def __getitem__(self, roast):
        seed = (self.session * 16 + self.drum) * 1000 + roast
        generator = torch.Generator().manual_seed(seed)
        time.sleep(0.045 + 0.025 * torch.rand(1, generator=generator).item())
        slope = 1 + 0.2 * torch.randn(10, 1, generator=generator)
        curve = slope * torch.linspace(-1, 1, CURVE) + 0.1 * torch.randn(10, CURVE, generator=generator)
        colour = 60 - 12 * (slope[:, 0] - 1)
        return curve, self.end_temperature(roast), colour / 60
