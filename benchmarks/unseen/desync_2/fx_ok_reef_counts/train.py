import time

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader

from tiles import CHANNELS, SIZE, BrokenDive, Dives, read_dive

PORTION = 4
STEPS = 340


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(CHANNELS, 12, 3, stride=2, padding=1), nn.GroupNorm(3, 12), nn.GELU())
        self.count = nn.Linear(12, 1)

    def forward(self, images):
        return self.count(self.features(images).mean((2, 3))).squeeze(1)


class Survey:
    def __init__(self, accelerator):
        self.acc = accelerator
        data = Dives(STEPS * accelerator.num_processes, accelerator.num_processes)
        loader = DataLoader(data, batch_size=1, collate_fn=lambda rows: rows[0])
        model = Counter()
        optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
        self.model, self.optimizer, self.loader = accelerator.prepare(model, optimizer, loader)
        self.empty = (torch.zeros(1, CHANNELS, SIZE, SIZE), torch.zeros(1), torch.zeros(1, dtype=torch.bool))
        self.left_out = 0
        self.repeated = 0

    def portions(self, record):
        try:
            images, counts, visible = read_dive(record)
        except BrokenDive:
            self.left_out += 1
            return []
        return list(zip(images.split(PORTION), counts.split(PORTION), visible.split(PORTION)))

    def backward_of(self, part):
        images, counts, visible = part
        error = F.mse_loss(self.model(images), counts, reduction="none")
        loss = (error * visible).sum() / visible.sum().clamp(min=1)
        self.acc.backward(loss)
        return loss.detach()

    def attempt(self, parts, rounds):
        self.optimizer.zero_grad()
        total = torch.zeros(())
        for k in range(rounds):
            time.sleep(0.016)
            total += self.backward_of(parts[k] if k < len(parts) else self.empty)
        return total

    def step(self, record):
        parts = self.portions(record)
        rounds = int(self.acc.reduce(torch.tensor([len(parts)]), reduction="max"))
        total = self.attempt(parts, rounds)
        surprise = torch.tensor([1 if total > 250 else 0])
        if self.acc.reduce(surprise, reduction="sum").item() > 0:
            self.repeated += 1
            total = self.attempt(parts, rounds)
        nn.utils.clip_grad_norm_(self.model.parameters(), 10.0)
        self.optimizer.step()
        return total.item()

    @torch.no_grad()
    def look_at_reference(self, seconds):
        plain = self.acc.unwrap_model(self.model)
        images = torch.rand(16, CHANNELS, SIZE, SIZE, generator=torch.Generator().manual_seed(1))
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = plain(images).mean().item()
            time.sleep(0.05)
        return value

    def run(self):
        for number, record in enumerate(self.loader):
            total = self.step(record)
            if number % 100 == 60 and self.acc.is_main_process:
                print(f"dive {number}: loss {total:.2f}, reference {self.look_at_reference(1.5):.2f}", flush=True)
        tally = self.acc.gather(torch.tensor([[self.left_out, self.repeated]]))
        self.acc.print("left out, repeated by process:", tally.tolist())


if __name__ == "__main__":
    accelerator = Accelerator(cpu=True)
    torch.set_num_threads(1)
    torch.manual_seed(19)
    Survey(accelerator).run()
    accelerator.wait_for_everyone()
    accelerator.end_training()
