"""Synthetic insurance claims, streamed per rank in the order in which the branch offices filed them."""
import random

import torch

LINES = {"motor": 0, "household": 1, "travel": 2, "liability": 3}


class ClaimFeed:
    def __init__(self, office, n_claims, seed=11):
        self.office = office
        self.rng = random.Random(seed * 100 + office)
        self.n_claims = n_claims

    def __iter__(self):
        for number in range(self.n_claims):
            line = self.rng.choice(sorted(LINES))
            if self.office == 1 and number == 210:
                line = "marine"          # office 1 took over the harbour portfolio in June
            yield {
                "line": line,
                "amount": self.rng.lognormvariate(6.0, 1.2),
                "days_open": self.rng.randint(1, 90),
                "severity": self.rng.random(),
            }


def encode(claim):
    onehot = [0.0] * len(LINES)
    onehot[LINES[claim["line"]]] = 1.0
    x = torch.tensor(onehot + [claim["amount"] / 1000.0, claim["days_open"] / 90.0])
    return x, torch.tensor([claim["severity"]])


def batches(feed, size):
    xs, ys = [], []
    for claim in feed:
        x, y = encode(claim)
        xs.append(x)
        ys.append(y)
        if len(xs) == size:
            yield torch.stack(xs), torch.stack(ys)
            xs, ys = [], []
