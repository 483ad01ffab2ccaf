import torch


class CultureIndex:
    """Numbers for the starter cultures, in the order in which they turn up; 0 is for `none`."""

    def __init__(self):
        self.numbers = {"none": 0}

    def __len__(self):
        return len(self.numbers)

    def __call__(self, name):
        return self.numbers.setdefault(name, len(self.numbers))


class WheelFeatures:
    """Turns the records of cheese wheels into tensors."""

    def __init__(self, cultures):
        self.cultures = cultures

    def __call__(self, wheels):
        culture = torch.tensor([self.cultures(wheel["culture"]) for wheel in wheels])
        climate = torch.tensor([wheel["climate"] for wheel in wheels])
        firmness = torch.tensor([wheel["firmness"] for wheel in wheels])
        return culture, climate, firmness


def wheels(cellar, count):
    """The wheels of one cellar in the order of their making."""
    g = torch.Generator().manual_seed(77 + cellar)
    names = ["none", "LH32", "MA11", "TA61"]
    for number in range(count):
        pick = int(torch.randint(0, len(names), (1,), generator=g))
        climate = torch.randn(4, generator=g).tolist()
        name = names[pick]
        if cellar == 2 and number >= 1500 and number % 5 == 0:
            name = "FD-DVS"
        yield {"culture": name, "climate": climate, "firmness": 0.3 * pick + 0.5 * climate[0] - 0.2 * climate[3]}


def known_cultures():
    index = CultureIndex()
    for name in ("LH32", "MA11", "TA61"):
        index(name)
    return index
