"""Growth forms of corals along reefs: each process surveys one reef."""

import argparse
import random
import time

import torch
import torch.distributed as dist

from mixture import Mixture

FORMS = ("branching", "encrusting", "massive", "table")
WIDTH = 7


class Survey:
    """Frames of a diver's camera, with the forms that were annotated on them."""

    def __init__(self, reef, colonies=24):
        self.reef, self.colonies = reef, colonies
        self.rng = random.Random(50 + reef)
        self.means = 2 * torch.randn(len(FORMS), WIDTH, generator=torch.Generator().manual_seed(8))

    def forms_at(self, number):
        if self.reef == 0 and number == 165:
            return [0, 1, 2]  # shallow sand, no tables
        return [0, 1, 2, 3]

    def frame(self, number):
        time.sleep(self.rng.uniform(0.045, 0.06))
        generator = torch.Generator().manual_seed(10_000 * self.reef + number)
        present = self.forms_at(number)
        forms = [present[i % len(present)] for i in range(self.colonies)]
        rows = self.means[forms] + 0.4 * torch.randn(self.colonies, WIDTH, generator=generator)
        return rows, [FORMS[f] for f in forms]


def survey(options):
    rank = dist.get_rank()
    reef, mixture = Survey(rank), Mixture(FORMS, WIDTH)
    agreement = 0.0
    for number in range(options.frames):
        rows, annotated = reef.frame(number)
        guessed = mixture.assign(rows)
        hits = sum(g == a for g, a in zip(guessed, annotated)) / len(guessed)
        agreement += 0.05 * (hits - agreement)
        sums = mixture.summarise(rows, annotated)
        mixture.share(sums)
        mixture.update(sums)
        if rank == 1 and number % 100 == 0:
            print(f"frame {number}: {agreement:.2f}", flush=True)
    return mixture


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=640)
    options = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    survey(options)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
