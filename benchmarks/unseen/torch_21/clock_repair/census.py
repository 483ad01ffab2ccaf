"""What the workshops wrote into their repair books: the faults of the clocks that came in during a period."""
import dataclasses

import numpy as np
import torch

KINDS = (
    "mainspring click ratchet barrel centre_wheel third_wheel escape_wheel anchor pallet pivot bush suspension "
    "crutch pendulum rate_nut strike_train rack snail hammer gong chime_barrel motion_work hands case"
).split()


@dataclasses.dataclass
class Visit:
    """A clock on the bench; `faults` are the numbers of what was replaced, one per part."""

    clock: int
    faults: np.ndarray


class RepairBook:
    """Repairs of one workshop, by period. A workshop that has only serviced clocks has replaced nothing."""

    def __init__(self, workshop, periods, visits, idle=()):
        rng = np.random.default_rng(50 + workshop)
        liking = rng.dirichlet(np.full(len(KINDS), 0.8))
        self.periods = []
        for period in range(periods):
            parts = np.zeros(visits, int) if period in idle else rng.poisson(1.2, visits)
            self.periods.append(
                [Visit(int(rng.integers(400)), rng.choice(len(KINDS), size=n, p=liking)) for n in parts]
            )

    def visits(self, period):
        return self.periods[period]


def tally(visits):
    """How often each kind of part was replaced, as a tensor of len(KINDS) counts."""
    books = [visit.faults for visit in visits if len(visit.faults)]
    if not books:
        return torch.zeros(len(KINDS))
    return torch.from_numpy(np.bincount(np.concatenate(books), minlength=len(KINDS)))


def weights_from(counts, floor=5.0):
    """Loss weights of the kinds: rare ones count more, with a mean of one."""
    inverse = 1.0 / (counts.float() + floor).sqrt()
    return inverse / inverse.mean()
