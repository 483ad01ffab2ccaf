"""Utterances in shards; every rank reads its own shards, whole batches only."""
import torch


class Utterance:
    __slots__ = ("frames", "label", "seconds")

    def __init__(self, frames, label, seconds):
        self.frames = frames
        self.label = label
        self.seconds = seconds


def read_shard(number, size=48):
    gen = torch.Generator().manual_seed(500 + number)
    for position in range(size):
        seconds = 2.0 + float(torch.rand((), generator=gen)) * 6.0
        if number == 4 and position % 7 == 3:
            seconds += 25.0
        label = int(torch.randint(0, 6, (), generator=gen))
        frames = torch.randn(12, generator=gen) + label * 0.2
        yield Utterance(frames, label, seconds)


def shards_for(rank, world, total):
    return [number for number in range(total) if number % world == rank]


class BucketReader:
    def __init__(self, shards, batch, longest):
        self.shards = shards
        self.batch = batch
        self.longest = longest

    def utterances(self):
        for number in self.shards:
            yield from (u for u in read_shard(number) if u.seconds <= self.longest)

    def __iter__(self):
        pending = []
        for utterance in self.utterances():
            pending.append(utterance)
            if len(pending) == self.batch:
                yield (torch.stack([u.frames for u in pending]),
                       torch.tensor([u.label for u in pending]))
                pending = []
