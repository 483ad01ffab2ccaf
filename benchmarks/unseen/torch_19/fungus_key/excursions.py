"""Finds of three excursions: measurements of fungi and the names that were given to them."""
import torch

SPECIES = (
    "blusher", "bolete", "chanterelle", "deceiver", "earthball", "fly agaric",
    "honey fungus", "ink cap", "milk cap", "morel", "parasol", "stinkhorn",
)
MEASURES = 20
# in how many of a hundred finds a species is met, by the wood that was walked through
WOODS = (
    (9, 8, 8, 10, 7, 8, 12, 8, 9, 5, 8, 8),
    (12, 4, 6, 11, 9, 10, 9, 7, 12, 6, 9, 5),
    (14, 12, 9, 13, 8, 11, 8, 6, 10, 0, 4, 5),
)


class Find:
    __slots__ = ("measures", "name")

    def __init__(self, measures, name):
        self.measures = measures
        self.name = name


def walk(number, finds):
    """The finds of one excursion."""
    shared = torch.Generator().manual_seed(6)
    typical = torch.randn(len(SPECIES), MEASURES, generator=shared)
    random = torch.Generator().manual_seed(300 + number)
    weights = torch.tensor(WOODS[number % len(WOODS)], dtype=torch.float)
    kinds = torch.multinomial(weights, finds, replacement=True, generator=random)
    noise = 0.6 * torch.randn(finds, MEASURES, generator=random)
    return [Find(typical[kind] + noise[i], SPECIES[kind]) for i, kind in enumerate(kinds.tolist())]
