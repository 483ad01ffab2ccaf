import random

from torch.utils.data import Dataset

THINGS = ["shirts", "tea", "books", "toys", "shoes", "soap", "cables", "candles", "jam", "watches", "lamps", "knives"]
KINDS = ["cotton", "used", "printed", "wooden", "green", "children", "handmade", "small", "spare"]


class Forms(Dataset):
    """Forms of one post office in the order in which they were filled in at the counter.

    `amended` are forms whose line was filled in by hand afterwards, by the travelling inspector.
    """

    def __init__(self, count, seed, amended=()):
        self.count = count
        self.seed = seed
        self.amended = set(amended)

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        rng = random.Random(self.seed * 1_000_003 + i)
        goods = ", ".join(f"{rng.choice(KINDS)} {rng.choice(THINGS)}" for _ in range(rng.randint(2, 4)))
        grams = rng.randint(50, 9000)
        worth = rng.randint(1, 400)
        held = int("knives" in goods or worth > 300)
        line = f"{goods}: {grams} g, {worth} EUR"
        if i in self.amended:
            line = f"{goods}, wooden lamps: {grams} g, about {worth} EUR"
        return {"line": line, "held": held}
