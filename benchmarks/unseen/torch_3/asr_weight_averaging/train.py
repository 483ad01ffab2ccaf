import argparse
import time

import torch
from torch import nn

from averaging import SnapshotAverager
from runtime import Session

LANGUAGES = ["de", "fr", "pl", "ro"]


class Adapter(nn.Module):
    """A bottleneck that is put into the encoder once there is enough adaptation data."""

    def __init__(self, dim, width):
        super().__init__()
        self.down, self.up = nn.Linear(dim, width), nn.Linear(width, dim)
        nn.init.zeros_(self.up.weight)

    def forward(self, x):
        return x + self.up(torch.relu(self.down(x)))


class TinyASR(nn.Module):
    def __init__(self, mels=20, dim=32, phones=18):
        super().__init__()
        self.conv = nn.Conv1d(mels, dim, 5, stride=2, padding=2)
        self.body = nn.Sequential(nn.Linear(dim, dim), nn.GELU())
        self.head = nn.Linear(dim, phones + 1)

    def forward(self, mel):
        frames = torch.relu(self.conv(mel)).transpose(1, 2)
        return self.head(self.body(frames)).log_softmax(-1).transpose(0, 1)


def utterances(rank, step, batch=4):
    gen = torch.Generator().manual_seed(rank * 10_000 + step)
    mel = torch.randn(batch, 20, 40, generator=gen)
    phones = torch.randint(1, 19, (batch, 6), generator=gen)
    hours = 0.05 * step * (2.5 if LANGUAGES[rank] == "pl" else 1.0)
    return mel, phones, hours


def train(session, args):
    torch.manual_seed(13)
    model = TinyASR()
    averager = SnapshotAverager(model, keep=4)
    ctc = nn.CTCLoss(zero_infinity=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    journal = session.open(f"/tmp/asr_{LANGUAGES[session.rank]}.log")
    for step in range(1, args.steps + 1):
        mel, phones, hours = utterances(session.rank, step)
        if hours > args.adapter_hours and len(model.body) == 2:
            model.body.append(Adapter(32, 8))
            optimizer.add_param_group({"params": model.body[-1].parameters()})
        logp = model(mel)
        loss = ctc(logp, phones, torch.full((4,), logp.size(0)), torch.full((4,), 6))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        journal.write(f"{step} {loss.item():.4f}\n")
        if step % 3 == 0:
            averager.push()
        if step % 12 == 0:
            averager.merge()
            if session.rank == 0:
                print(f"step {step} merged, loss {loss.item():.3f}", flush=True)
        time.sleep(0.03)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=72)
    parser.add_argument("--adapter-hours", type=float, default=4.0)
    with Session() as session:
        train(session, parser.parse_args())
