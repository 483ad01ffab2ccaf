"""Leaf species from scanned herbarium sheets (synthetic)."""
import json
import tempfile
import time
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.utils import ProjectConfiguration
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def sheets(n, seed):
    g = torch.Generator().manual_seed(seed)
    return TensorDataset(torch.randn(n, 3, 12, 12, generator=g), torch.randint(0, 6, (n,), generator=g))


def build_model():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(32, 6),
    )


class FullResolutionEvaluator:
    """Tile every sheet and average the predictions of the tiles."""

    def __init__(self, accelerator, dataset, out_dir):
        self.accelerator = accelerator
        self.dataset = dataset
        self.out_dir = Path(out_dir)

    @torch.no_grad()
    def __call__(self, model, epoch):
        if self.accelerator.is_main_process:
            net = self.accelerator.unwrap_model(model)
            net.eval()
            correct = 0
            for sheet, species in self.dataset:
                tiles = torch.stack([sheet.roll(k, -1) for k in range(4)])
                correct += int(net(tiles).mean(0).argmax() == species)
                time.sleep(0.3)
            net.train()
            result = {"epoch": epoch, "accuracy": correct / len(self.dataset)}
            (self.out_dir / f"eval-{epoch}.json").write_text(json.dumps(result))
            print(result, flush=True)
        self.accelerator.wait_for_everyone()


def main():
    out_dir = tempfile.mkdtemp(prefix="leaf-")
    accelerator = Accelerator(cpu=True, project_config=ProjectConfiguration(project_dir=out_dir))
    torch.manual_seed(1)
    model = build_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 20, 0.5)
    loader = DataLoader(sheets(240, 2), batch_size=6, shuffle=True)
    model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
    evaluate = FullResolutionEvaluator(accelerator, sheets(60, 3), out_dir)

    for epoch in range(2):
        for images, species in loader:
            loss = nn.functional.cross_entropy(model(images), species)
            accelerator.backward(loss)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            time.sleep(0.02)
        mean = accelerator.reduce(loss.detach(), reduction="mean")
        accelerator.print(f"epoch {epoch} loss {mean.item():.3f}")
        if epoch == 1:
            evaluate(model, epoch)
    accelerator.end_training()


if __name__ == "__main__":
    main()
