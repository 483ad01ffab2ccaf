import time

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, Dataset

from losses import hits, observed_share, soil_loss

BATCH = 8
STEPS = 640
CLASSES = 5
SIDE = 8


class SoilPatches(Dataset):
    """Patches along the flight lines of a survey, in the order of recording."""

    def __init__(self, lines, per_line):
        self.lines, self.per_line = lines, per_line
        mix = torch.Generator().manual_seed(11)
        self.signatures = torch.randn(CLASSES, 6, generator=mix)
        # line 890 crosses a lake, of which there is no ground truth
        self.water = {890}

    def __len__(self):
        return self.lines * self.per_line

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(4000 + i)
        classes = torch.randint(0, CLASSES, (SIDE, SIDE), generator=g)
        bands = self.signatures[classes].permute(2, 0, 1)
        bands = bands + 0.4 * torch.randn(bands.shape, generator=g)
        if i // self.per_line in self.water:
            valid = torch.zeros(SIDE, SIDE, dtype=torch.bool)
        else:
            valid = torch.rand(SIDE, SIDE, generator=g) > 0.35
        return bands, classes, valid


class PatchNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.stem = nn.Conv2d(6, width, 3, padding=1)
        self.norm = nn.GroupNorm(4, width)
        self.mid = nn.Conv2d(width, width, 3, padding=1)
        self.out = nn.Conv2d(width, CLASSES, 1)

    def forward(self, x):
        h = torch.relu(self.norm(self.stem(x)))
        h = h + torch.relu(self.mid(h))
        return self.out(h)


def main():
    accelerator = Accelerator(cpu=True)
    torch.set_num_threads(1)
    set_seed(3)

    world = accelerator.num_processes
    data = SoilPatches(lines=world * STEPS, per_line=BATCH)
    loader = DataLoader(data, batch_size=BATCH, shuffle=False)
    model = PatchNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

    model.train()
    right = torch.zeros(1)
    seen = torch.zeros(1)
    coverage = 0.0
    for step, (bands, classes, valid) in enumerate(loader):
        time.sleep(0.038)  # augmentation and reprojection
        coverage += float(observed_share(valid))
        logits = model(bands)
        loss = soil_loss(logits, classes, valid)
        if loss is None:
            continue
        optimizer.zero_grad()
        accelerator.backward(loss)
        optimizer.step()
        right += hits(logits, classes, valid)
        seen += valid.sum()
        if step % 80 == 0:
            accelerator.print(f"step {step} loss {loss.item():.4f} observed {coverage / (step + 1):.2f}")

    totals = accelerator.gather(torch.stack([right, seen], dim=1))
    accuracy = totals[:, 0].sum() / totals[:, 1].sum()
    accelerator.print(f"pixel accuracy {accuracy:.4f}")
    accelerator.end_training()


if __name__ == "__main__":
    main()
