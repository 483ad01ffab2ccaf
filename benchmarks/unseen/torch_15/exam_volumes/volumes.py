"""Volumes of exam questions, and how a volume is shared out among the processes."""
import dataclasses

import torch

# questions in every volume; each process takes one booklet of a volume
VOLUMES = {"arithmetic": 290, "geometry": 240, "algebra": 270, "logic": 255, "chance": 180, "music": 210}


@dataclasses.dataclass
class Booklet:
    volume: str
    start: int
    stop: int

    def __len__(self):
        return self.stop - self.start


def booklets(volume, largest=100):
    """As few booklets of at most `largest` questions as the volume needs, of about the same length."""
    total = VOLUMES[volume]
    count = -(-total // largest)
    edges = [total * i // count for i in range(count + 1)]
    return [Booklet(volume, start, stop) for start, stop in zip(edges, edges[1:])]


def questions(booklet, size=24):
    """Inputs and the right answers of the questions in a booklet."""
    seed = 1000 * list(VOLUMES).index(booklet.volume)
    for number in range(booklet.start, booklet.stop):
        g = torch.Generator().manual_seed(seed + number)
        x = torch.randn(size, generator=g)
        yield x, int((x[:4].sum() + 0.3 * x[4]) > 0)


def practice(count, size=24, seed=77):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(count, size, generator=g)
    return x, (x[:, :4].sum(1) + 0.3 * x[:, 4] > 0).long()
