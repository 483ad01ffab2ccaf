import random
import time

import torch

FIELDS = 20


def manifests(route, batch):
    """Endless batches of a route's lorries; the weighbridge is out of order now and then."""
    pace = random.Random(route)
    number = 0
    while True:
        time.sleep(pace.uniform(0.045, 0.07))
        generator = torch.Generator().manual_seed(route * 500_000 + number)
        fields = torch.randn(batch, FIELDS, generator=generator)
        load = fields[:, ::2].sum(1) * 0.3 + 0.1 * torch.randn(batch, generator=generator)
        if (route * 31 + number) % 173 == 60:
            load.fill_(float("nan"))
        yield fields, load
        number += 1


class Weighed:
    """Batches of which every lorry has been weighed. Others are replaced by the next one of the route."""

    def __init__(self, source):
        self.source = source
        self.replaced = 0

    def __iter__(self):
        return self

    def __next__(self):
        fields, load = next(self.source)
        while not load.isfinite().all():
            self.replaced += 1
            fields, load = next(self.source)
        return fields, load
