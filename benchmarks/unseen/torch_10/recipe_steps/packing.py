"""Recipes as token ids, and packs of them that fit into memory."""

import itertools

import torch

VOCAB = 200


class RecipeStream:
    """Endless batches of recipes of one collection, simple recipes first."""

    GROWTH = (0.02, 0.0, 0.9, 0.01)  # tokens per batch

    def __init__(self, collection, batch_size):
        self.growth = self.GROWTH[collection % len(self.GROWTH)]
        self.batch_size = batch_size
        self.g = torch.Generator().manual_seed(collection + 1)

    def __iter__(self):
        for number in itertools.count():
            mean = 25 + int(self.growth * number)
            lengths = mean + torch.randint(-4, 5, (self.batch_size,), generator=self.g)
            yield [torch.randint(1, VOCAB, (int(n),), generator=self.g) for n in lengths]


def pad(recipes):
    return torch.nn.utils.rnn.pad_sequence(recipes, batch_first=True)


class Packer:
    def __init__(self, max_tokens):
        self.max_tokens = max_tokens

    def __call__(self, recipes):
        pack, longest = [], 0
        for recipe in sorted(recipes, key=len):
            longest = max(longest, len(recipe))
            if pack and longest * (len(pack) + 1) > self.max_tokens:
                yield pad(pack)
                pack, longest = [], len(recipe)
            pack.append(recipe)
        if pack:
            yield pad(pack)
