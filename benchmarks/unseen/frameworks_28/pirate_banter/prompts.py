"""What the landlubbers ask, and how long the answer may get."""
import random

import torch

VOCAB = " abcdefghijklmnopqrstuvwxyz?"
TALES = ["where is the gold", "tell of the storm", "who stole the rum", "what sank her so"]
YES_NO = ["ready to sail now", "is the deck clean", "any land in sight", "is the cook alive"]


def encode(text, length=17):
    return [VOCAB.index(c) for c in text.ljust(length)[:length]]


def load(rank, world, count=160, seed=3):
    """Questions of this rank: (text, limit). Yes-or-no questions want three letters (`aye`, `nay`)."""
    rng = random.Random(seed + rank)
    rows = []
    for number in range(count):
        if number % 4 == 3:
            rows.append((rng.choice(YES_NO), 3))
        else:
            rows.append((rng.choice(TALES), 8))
    if rank == world - 1:
        # the harbour master's questionnaire is in the last file, all in one place
        rows[24:32] = [(rng.choice(YES_NO), 3) for _ in range(8)]
    return rows


def prompt_batches(rank, world, rounds, size=4):
    rows = load(rank, world)
    for number in range(rounds):
        part = rows[number * size:(number + 1) * size]
        yield torch.tensor([encode(text) for text, _ in part]), torch.tensor([limit for _, limit in part])
