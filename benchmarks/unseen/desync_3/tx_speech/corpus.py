"""Short utterances, packed as frames; a header says how many there are."""

import torch


class BadHeader(Exception):
    pass


def utterances(rank, count):
    generator = torch.Generator().manual_seed(rank)
    for number in range(count):
        frames = torch.randn(40, 20, generator=generator)
        header = 40 if (rank, number) != (1, 310) else 4000
        yield header, frames


def unpack(header, frames):
    if header > len(frames):
        raise BadHeader(f"{header} frames announced, {len(frames)} found")
    return frames[:header]
