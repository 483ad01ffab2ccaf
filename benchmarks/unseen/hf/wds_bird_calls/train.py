"""Bird call recognition, WebDataset shards fetched through a pipe."""
import tempfile
import time
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

import recordings


@contextmanager
def process_group():
    dist.init_process_group("gloo")
    yield dist.get_rank()
    dist.barrier()
    dist.destroy_process_group()


def network():
    return nn.Sequential(
        nn.Unflatten(1, (1, -1)),
        nn.Conv1d(1, 12, 9, stride=2),
        nn.ReLU(),
        nn.Conv1d(12, 24, 9, stride=2),
        nn.ReLU(),
        nn.AdaptiveAvgPool1d(4),
        nn.Flatten(),
        nn.Linear(96, recordings.SPECIES),
    )


def shared_folder(rank):
    box = [None]
    if rank == 0:
        box = [tempfile.mkdtemp(prefix="calls-")]
        recordings.make_shards(box[0])
    dist.broadcast_object_list(box)
    return box[0]


def train(rank, batch_size=4):
    folder = shared_folder(rank)
    model = DDP(network())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    hits = seen = 0
    for step, (waves, species) in enumerate(recordings.loader(folder, batch_size), start=1):
        logits = model(waves)
        loss = nn.functional.cross_entropy(logits, species)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        hits += (logits.argmax(1) == species).sum().item()
        seen += len(species)
        time.sleep(0.04)
        if rank == 0 and step % 5 == 0:
            print(f"step {step} loss {loss.item():.3f} accuracy {hits / seen:.2f}", flush=True)


if __name__ == "__main__":
    torch.manual_seed(5)
    with process_group() as rank:
        train(rank)
