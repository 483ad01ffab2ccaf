"""Cards of organ pipes as the workshops wrote them, as text."""
import random

import torch

FIELDS = ("length", "diameter", "mouth", "wind")


def cards(workshop, count):
    """Each card: four measures and the pitch in cents against the table."""
    rng = random.Random(500 + workshop)
    for number in range(count):
        length, diameter = rng.uniform(0.2, 2.4), rng.uniform(0.02, 0.2)
        mouth, wind = rng.uniform(0.1, 0.5), rng.uniform(60, 90)
        pitch = 8 * length - 30 * diameter + 4 * mouth * mouth - 0.05 * (wind - 75)
        card = [f"{length:.3f}", f"{diameter:.4f}", f"{mouth:.3f}", f"{wind:.0f}", f"{pitch:.2f}"]
        if workshop == 2 and number == 1131:
            card[3] = "72/74"
        yield ";".join(card)


class CardBatches:
    def __init__(self, workshop, batches, size):
        self.size = size
        self.lines = list(cards(workshop, batches * size))

    def __repr__(self):
        return f"CardBatches({len(self)} of {self.size})"

    def __len__(self):
        return len(self.lines) // self.size

    def __iter__(self):
        for start in range(0, len(self) * self.size, self.size):
            yield self.lines[start:start + self.size]


def parse(lines):
    """Standardized measures and the pitch of each card."""
    rows = torch.tensor([[float(field) for field in line.split(";")] for line in lines])
    measures, pitch = rows[:, :len(FIELDS)], rows[:, -1]
    return (measures - torch.tensor([1.3, 0.11, 0.3, 75.0])) / torch.tensor([0.6, 0.05, 0.12, 9.0]), pitch
