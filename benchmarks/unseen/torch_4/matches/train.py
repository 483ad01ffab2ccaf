"""Expected threat from ball events; training is resumed in the middle of a tape."""
import argparse
import itertools
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torchdata.stateful_dataloader import StatefulDataLoader

from events import MatchTape


def loader_for(rank, args, mount):
    tape = MatchTape(stadium=rank, events=args.events, mount=mount)
    return StatefulDataLoader(tape, batch_size=args.batch, num_workers=1)


def consume(model, optimizer, batches):
    done = 0
    for where, threat in batches:
        loss = nn.functional.cross_entropy(model(where), threat)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.02)
        done += 1
    return done


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--events", type=int, default=320)
    p.add_argument("--batch", type=int, default=4)
    p.add_argument("--half", type=int, default=40)
    args = p.parse_args()
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2)))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    first = loader_for(rank, args, mount=0.5)
    played = consume(model, optimizer, itertools.islice(iter(first), args.half))
    bookmark = first.state_dict()
    del first
    dist.barrier()

    second = loader_for(rank, args, mount=14.0 if rank == 0 else 1.0)
    second.load_state_dict(bookmark)
    played += consume(model, optimizer, second)
    print(f"stadium {rank}: {played} batches", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
