"""Power curves of wind farms with Accelerate: every process reads the records of one farm."""
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from watch import ConvergenceWatch

ROUNDS = 60
STEPS_PER_ROUND = 12
FARMS = [
    {"name": "Nordkante", "rated": 3.2, "scatter": 0.6, "curtailed": False},
    {"name": "Haldenberg", "rated": 2.4, "scatter": 0.5, "curtailed": True},
    {"name": "Seewind", "rated": 5.0, "scatter": 0.9, "curtailed": False},
]


def farm_records(farm, count=1536):
    g = torch.Generator().manual_seed(len(farm["name"]))
    wind = torch.rand(count, generator=g) * 20
    density = 1.2 + 0.05 * torch.randn(count, generator=g)
    direction = torch.rand(count, generator=g) * 2 * torch.pi
    power = farm["rated"] * torch.sigmoid((wind - 9) / 1.6) * density
    power = power + farm["scatter"] * torch.randn(count, generator=g)
    if farm["curtailed"]:
        power = torch.zeros_like(power)
    x = torch.stack([wind / 10 - 1, density - 1.2, direction.sin(), direction.cos()], dim=1)
    return TensorDataset(x, power)


class PowerCurve(nn.Module):
    def __init__(self, width=64, farms=len(FARMS)):
        super().__init__()
        self.site = nn.Embedding(farms, 8)
        self.body = nn.Sequential(nn.Linear(12, width), nn.GELU(), nn.Linear(width, width), nn.GELU())
        self.out = nn.Linear(width, 1)

    def forward(self, x, site):
        return self.out(self.body(torch.cat([x, self.site(site)], dim=1))).squeeze(1)


def endless(loader):
    while True:
        yield from loader


def main():
    accelerator = Accelerator(cpu=True)
    set_seed(3)
    farm = accelerator.process_index
    loader = DataLoader(farm_records(FARMS[farm]), batch_size=64, shuffle=True, drop_last=True)
    model = PowerCurve()
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    model, optimizer = accelerator.prepare(model, optimizer)
    watch = ConvergenceWatch(accelerator, target=0.05, rounds=3)
    batches = endless(loader)

    for number in range(ROUNDS):
        total = 0.0
        for _ in range(STEPS_PER_ROUND):
            x, power = next(batches)
            site = torch.full((len(x),), farm)
            loss = nn.functional.mse_loss(model(x, site), power)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            total += loss.item()
        mean = total / STEPS_PER_ROUND
        watch.update(mean)
        if watch.finished():
            accelerator.print(f"converged after {number + 1} rounds")
            break
        errors = accelerator.gather(torch.tensor([mean]))
        accelerator.print(f"round {number}: " + " ".join(f"{e:.3f}" for e in errors.tolist()))

    accelerator.wait_for_everyone()
    accelerator.end_training()


if __name__ == "__main__":
    main()
