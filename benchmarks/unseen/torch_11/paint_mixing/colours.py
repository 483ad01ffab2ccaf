import torch
from torch.utils.data import Dataset

PIGMENTS = {"TiO2": 0, "ochre": 1, "umber": 2, "cobalt": 3, "cadmium": 4, "viridian": 5}
NAMES = list(PIGMENTS)


class Swatches(Dataset):
    """Recipes of three pigments each, and the colour that was measured."""

    def __init__(self, count, seed):
        g = torch.Generator().manual_seed(seed)
        pick = torch.randint(0, len(NAMES), (count, 3), generator=g)
        self.recipes = [[NAMES[i] for i in row] for row in pick.tolist()]
        self.amounts = torch.rand(count, 3, generator=g)
        tones = torch.rand(len(NAMES), 3, generator=g)
        self.colours = (tones[pick] * self.amounts.unsqueeze(2)).sum(1)
        self.recipes[1111][2] = "Cobalt"

    def __len__(self):
        return len(self.recipes)

    def __getitem__(self, index):
        return self.recipes[index], self.amounts[index], self.colours[index]


def collate(samples):
    recipes = [recipe for recipe, _, _ in samples]
    return recipes, torch.stack([a for _, a, _ in samples]), torch.stack([c for _, _, c in samples])


def encode(recipes, amounts):
    out = torch.zeros(len(recipes), len(PIGMENTS))
    for row, recipe in enumerate(recipes):
        for name, amount in zip(recipe, amounts[row]):
            out[row, PIGMENTS[name]] += amount
    return out
