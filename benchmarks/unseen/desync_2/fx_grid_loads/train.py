"""Load forecasts of substations; one shard of stations a process."""
import contextlib
import time

import torch
from accelerate import Accelerator

from windows import Window

HORIZON = 6
HISTORY = 32


def station_series(rank, micro_batches, rows=12):
    """Yields (history, target, events) per hour; storms bring many switching events."""
    g = torch.Generator().manual_seed(500 + rank)
    phase = 0.4 * rank
    storm = {4: (883, 891)}.get(rank)
    for m in range(micro_batches):
        t = torch.arange(HISTORY + HORIZON) / 6.0
        base = torch.sin(t + phase + 0.1 * m).repeat(rows, 1)
        base = base + 0.1 * torch.randn(rows, HISTORY + HORIZON, generator=g)
        events = int(torch.randint(2, 9, (), generator=g))
        if storm and storm[0] <= m < storm[1]:
            base = base + torch.linspace(0, 0.6, HISTORY + HORIZON)
            events += 60 if m == 885 else 3
        yield base[:, :HISTORY], base[:, HISTORY:], events


class Forecaster(torch.nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.encode = torch.nn.GRU(1, hidden, batch_first=True)
        self.head = torch.nn.Linear(hidden, HORIZON)

    def forward(self, history):
        _, h = self.encode(history[:, ::4].unsqueeze(-1))
        return self.head(h[-1]) + history[:, -1:]


def train(accelerator, windows, size):
    model = Forecaster()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    model, optimizer = accelerator.prepare(model, optimizer)

    window = Window(size=size, max_events=44)
    errors = []
    stream = station_series(accelerator.process_index, windows * size)
    for i, (history, target, events) in enumerate(stream):
        time.sleep(0.009)
        closing = window.closes(i, events)
        scope = contextlib.nullcontext() if closing else accelerator.no_sync(model)
        with scope:
            loss = torch.nn.functional.smooth_l1_loss(model(history), target)
            accelerator.backward(loss / size)
        errors.append(loss.item())
        if not closing:
            continue
        optimizer.step()
        optimizer.zero_grad()
        if window.closed % 100 == 0:
            accelerator.print(f"{window.closed} windows, error {sum(errors[-size:]) / size:.4f}")
    return torch.tensor(errors)


def main():
    accelerator = Accelerator(cpu=True)
    torch.set_num_threads(1)
    torch.manual_seed(8)

    errors = train(accelerator, windows=640, size=4)
    everyone = accelerator.gather(errors[-200:].unsqueeze(0))
    for rank, row in enumerate(everyone):
        accelerator.print(f"shard {rank}: {row.mean().item():.4f} +- {row.std().item():.4f}")
    accelerator.end_training()


if __name__ == "__main__":
    main()
