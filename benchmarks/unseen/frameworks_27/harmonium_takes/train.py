"""Reed model: predicts the pitch drift of a harmonium take from its mel frames (Accelerate)."""
import tempfile

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader

from takes import Takes, collate
from tracker import StripChart


class DriftNet(nn.Module):
    def __init__(self, bands=48):
        super().__init__()
        self.conv = nn.Conv1d(bands, 24, 5, padding=2)
        self.head = nn.Linear(24, 1)

    def forward(self, mels):
        return self.head(torch.relu(self.conv(mels)).mean(-1)).squeeze(-1)


def main():
    torch.set_num_threads(1)
    set_seed(11)
    chart = StripChart("drift", tempfile.gettempdir())
    accelerator = Accelerator(cpu=True, log_with=chart)
    accelerator.init_trackers("harmonium", config={"lr": 1e-3, "bands": 48})

    model = DriftNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loader = DataLoader(Takes(3600), batch_size=6, shuffle=True, collate_fn=collate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

    step = 0
    for epoch in range(2):
        for mels, drift in loader:
            loss = nn.functional.smooth_l1_loss(model(mels), drift)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            step += 1
            # one strip per step; the workshop likes to look at them the day after
            strip = mels[0].mean(0).tolist()
            accelerator.log({"loss": loss.item(), "strip": strip}, step=step)
        accelerator.wait_for_everyone()
        accelerator.print(f"epoch {epoch} loss {loss.item():.4f}")
    accelerator.end_training()


if __name__ == "__main__":
    main()
