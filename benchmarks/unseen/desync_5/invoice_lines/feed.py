import random
import time

import torch

KINDS = ("goods", "freight", "discount", "tax")


class InvoiceFeed:
    """Lines of invoices as the branch offices send them: kind, quantity, price, amount."""

    def __init__(self, office, batches, size):
        self.office, self.batches, self.size = office, batches, size

    def line(self, dice, number):
        kind = dice.randrange(len(KINDS))
        quantity, price = dice.randint(1, 20), round(dice.uniform(1, 90), 2)
        amount = f"{quantity * price:.2f}"
        if self.office == 2 and number == 318:
            amount = amount.replace(".", ",")
        return KINDS[kind], quantity, price, amount

    def __iter__(self):
        dice = random.Random(self.office)
        for number in range(self.batches):
            time.sleep(0.02)
            yield [self.line(dice, number) for _ in range(self.size)]


def encode(lines):
    features = torch.tensor([[q / 20, p / 90, float(a) / 1800] for _, q, p, a in lines])
    return features, torch.tensor([KINDS.index(kind) for kind, *_ in lines])
