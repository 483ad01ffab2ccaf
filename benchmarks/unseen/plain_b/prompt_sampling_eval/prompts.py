"""Prompts of the evaluation suite as token ids."""
import random

VOCAB = 64


def load_suite(n=177):
    rng = random.Random(2024)
    suite = []
    for i in range(n):
        length = 6 + rng.randrange(10)
        if i % 24 == 4:              # few-shot variants carry their examples with them
            length += 30
        suite.append([rng.randrange(VOCAB) for _ in range(length)])
    return suite


class PromptShard:
    """Every world-th prompt; what does not fit into the context is left out."""

    def __init__(self, suite, rank, world, context):
        own = list(enumerate(suite))[rank::world]
        self.items = [(i, p) for i, p in own if len(p) <= context]

    def batches(self, size):
        for at in range(0, len(self.items), size):
            yield self.items[at:at + size]
