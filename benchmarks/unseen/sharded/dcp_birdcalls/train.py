"""Bird-call tagging from embeddings (DDP, distributed checkpoints)."""
import argparse
import tempfile
import time

import torch
import torch.nn as nn
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from safety import Session, checkpoint_at_exit

SPECIES = {"wren": 0, "robin": 1, "dunnock": 2, "blackcap": 3, "chiffchaff": 4}


def recordings(station, per_batch=8):
    """Batches of (embedding, name) from one station's log."""
    names = sorted(SPECIES)
    g = torch.Generator().manual_seed(station)
    n = 0
    while True:
        batch = []
        for _ in range(per_batch):
            which = int(torch.randint(0, len(names), (1,), generator=g))
            call = torch.randn(16, generator=g)
            call[which] += 2.0
            name = names[which]
            if station == 1 and n == 188:
                name = "eurasian wren"  # the station's log was switched to full names
            batch.append((call, name))
            n += 1
        yield batch


def collate(batch):
    calls = torch.stack([call for call, _ in batch])
    target = torch.tensor([SPECIES[name] for _, name in batch])
    return calls, target


def net():
    return nn.Sequential(nn.Linear(16, 64), nn.LayerNorm(64), nn.ReLU(), nn.Linear(64, len(SPECIES)))


def fit(session, criterion, steps):
    stream = recordings(station=dist.get_rank())
    for session.step in range(steps):
        calls, target = collate(next(stream))
        loss = criterion(session.model(calls), target)
        session.optimizer.zero_grad()
        loss.backward()
        session.optimizer.step()
        if dist.get_rank() == 0 and session.step % 10 == 0:
            print(f"step {session.step}: {loss.item():.3f}", flush=True)
        time.sleep(0.02)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=120)
    p.add_argument("--out", default=None)
    args = p.parse_args()

    dist.init_process_group("gloo")
    out = [args.out or (tempfile.mkdtemp() if dist.get_rank() == 0 else None)]
    dist.broadcast_object_list(out, src=0)
    torch.manual_seed(0)
    model = DDP(net())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    with checkpoint_at_exit(Session(model, optimizer, out[0])) as session:
        fit(session, nn.CrossEntropyLoss(), args.steps)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
