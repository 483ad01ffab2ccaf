"""Learns to forecast the engine's wind, each rank in another basin."""
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from bridge import Engine

BASINS = ["atlantic", "pacific", "indian"]
STEPS = 400
HISTORY = 8


class Forecast(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRU(2, 16, batch_first=True)
        self.head = nn.Linear(16, 1)

    def forward(self, x):
        _, last = self.cell(x)
        return self.head(last[-1]).squeeze(-1)


class Window:
    """The last few answers of the engine, scaled."""

    def __init__(self, engine):
        self.engine = engine
        self.rows = []

    def advance(self, steer):
        answer = self.engine.ask(steer=steer)
        self.rows.append([answer["wind"] / 40, (answer["pressure"] - 980) / 40])
        self.rows = self.rows[-(HISTORY + 1):]

    def sample(self):
        past = torch.tensor(self.rows[:-1]).unsqueeze(0)
        return past, torch.tensor([self.rows[-1][0]])


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(7)
    model = DDP(Forecast())
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    engine = Engine(BASINS[rank])
    window = Window(engine)
    for _ in range(HISTORY):
        window.advance(0.0)
    for step in range(STEPS):
        window.advance(steer=(step % 7) - 3)
        past, target = window.sample()
        loss = nn.functional.mse_loss(model(past), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.08)          # the engine's licence allows about ten orders a second
        if rank == 0 and step % 20 == 0:
            print(f"{step}: {loss.item():.5f}", flush=True)
    print(f"{BASINS[rank]}: {engine.close()} warnings", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
