"""A model of a choir's pitch: one process conducts and learns, the others sing phrases, each at its own tempo."""
import argparse
import threading
import time

import torch
import torch.distributed as dist

from desk import Desk, Singer

# seconds for a phrase, number of phrases, and a rest (after how many phrases, how long) for each voice
VOICES = {1: (0.04, 120, (70, 0.0)), 2: (0.9, 9, (4, 6.0)), 3: (0.15, 40, (20, 3.5))}


class Journal(threading.Thread):
    """Writes every few seconds how far the concert is; it is done with its last lines some seconds after the end."""

    def __init__(self, desk, every):
        super().__init__(name="journal")
        self.desk = desk
        self.every = every
        self.over = threading.Event()

    def run(self):
        while not self.over.wait(self.every):
            print("phrases so far:", dict(self.desk.received), flush=True)
        for voice, count in self.desk.received.items():
            time.sleep(0.8)
            print(f"voice {voice} sang {count} phrases", flush=True)


def conduct(args, voices):
    desk = Desk(voices, args.width)
    journal = Journal(desk, every=3.0)
    journal.start()
    weights = torch.zeros(args.width)
    learnt = 0
    while desk.open:
        singer, phrase = desk.take()
        if phrase is None:
            print(f"voice {singer} has finished, {len(desk.open)} still sing", flush=True)
            continue
        weights += args.lr * (phrase - weights)
        learnt += 1
        if learnt % args.tune_every == 0:
            time.sleep(args.tune)  # the organ gives the pitch anew, everybody waits for it
        desk.answer(singer, weights)
    journal.over.set()
    return weights


def sing(args, rank):
    tempo, phrases, (rest_after, rest) = VOICES[rank]
    g = torch.Generator().manual_seed(rank)
    singer = Singer(args.width)
    weights = torch.zeros(args.width)
    for number in range(phrases):
        time.sleep(tempo)
        if number == rest_after:
            time.sleep(rest)
        phrase = torch.sin(torch.arange(args.width) / rank) + 0.1 * torch.randn(args.width, generator=g)
        weights = singer.sing(0.8 * phrase + 0.2 * weights)
    singer.finish()
    return weights


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--tune-every", type=int, default=80)
    parser.add_argument("--tune", type=float, default=4.0)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    if rank == 0:
        weights = conduct(args, range(1, world))
    else:
        weights = sing(args, rank)
    dist.broadcast(weights, src=0)
    print(f"rank {rank}: pitch {weights.mean().item():.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
