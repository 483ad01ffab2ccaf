"""Position of glacier fronts in radar tiles, with Accelerate and gradient accumulation."""
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from bulletin import Bulletin


def tiles(count: int, seed: int):
    g = torch.Generator().manual_seed(seed)
    column = torch.randint(8, 56, (count,), generator=g)
    image = (torch.arange(64)[None, None, :] < column[:, None, None]).float().expand(-1, 64, -1)
    image = image.unsqueeze(1) + 0.4 * torch.randn(count, 1, 64, 64, generator=g)
    return TensorDataset(image, column.float() / 64)


class FrontFinder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 12, 5, stride=2, padding=2), nn.ReLU(), nn.Conv2d(12, 24, 3, stride=2, padding=1), nn.ReLU()
        )
        self.head = nn.Linear(24 * 16, 1)

    def forward(self, image):
        return self.head(self.body(image).mean(dim=2).flatten(1)).squeeze(-1)


def main():
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    set_seed(31)
    loader = DataLoader(tiles(3200, seed=1), batch_size=8, shuffle=True, drop_last=True)
    model = FrontFinder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    bulletin = Bulletin(accelerator, every=60)

    updates = 0
    for _ in range(3):
        for image, front in loader:
            with accelerator.accumulate(model):
                error = model(image) - front
                accelerator.backward(error.square().mean())
                optimizer.step()
                optimizer.zero_grad()
            bulletin.add(error)
            if accelerator.sync_gradients:
                updates += 1
                bulletin.after(updates)
    accelerator.print("done after", updates, "updates")
    accelerator.end_training()


if __name__ == "__main__":
    main()
