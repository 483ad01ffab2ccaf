"""Multi-task ranking model for a news feed, one region per process."""
import time

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader

from events import TASKS, RegionLog
from meters import TaskMeter, report

REGIONS = ["emea", "apac", "amer"]


class SharedBottom(nn.Module):
    def __init__(self, inputs=20, hidden=32):
        super().__init__()
        self.bottom = nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU())
        self.heads = nn.ModuleDict({task: nn.Linear(hidden, 1) for task in TASKS})

    def forward(self, features):
        shared = self.bottom(features)
        return {task: head(shared).squeeze(-1) for task, head in self.heads.items()}


def masked_bce(logits, target):
    labelled = ~torch.isnan(target)
    loss = F.binary_cross_entropy_with_logits(logits, torch.nan_to_num(target), reduction="none")
    return (loss * labelled).sum() / labelled.sum().clamp(min=1), labelled


def run(report_every=12):
    accelerator = Accelerator(cpu=True)
    torch.manual_seed(1)
    log = RegionLog(REGIONS[accelerator.process_index])
    loader = DataLoader(log, batch_size=8)
    model = SharedBottom()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    model, optimizer = accelerator.prepare(model, optimizer)
    meter = TaskMeter()

    for step, (features, labels) in enumerate(loader, start=1):
        outputs = model(features)
        losses = []
        for column, task in enumerate(TASKS):
            loss, labelled = masked_bce(outputs[task], labels[:, column])
            meter.update(task, loss, labelled)
            losses.append(loss)
        accelerator.backward(torch.stack(losses).mean())
        optimizer.step()
        optimizer.zero_grad()
        time.sleep(0.03)
        if step % report_every == 0:
            report(accelerator, meter, step)

    accelerator.wait_for_everyone()
    accelerator.end_training()


if __name__ == "__main__":
    run()
