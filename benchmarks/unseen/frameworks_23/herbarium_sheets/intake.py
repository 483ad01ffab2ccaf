"""From cabinet to tensors: each process takes one drawer of a round, and a round is over when all have put theirs back."""

import logging
import time

import torch

log = logging.getLogger("intake")

TRAITS = 24
FAMILIES = 6
SHEETS = 32


def scan(drawer, seed):
    """The sheets of a drawer: leaf traits, family, and the yellow of the paper."""
    g = torch.Generator().manual_seed(1_000 * seed + drawer)
    centres = torch.randn(FAMILIES, TRAITS, generator=torch.Generator().manual_seed(seed))
    family = torch.randint(FAMILIES, (SHEETS,), generator=g)
    traits = centres[family] + 0.8 * torch.randn(SHEETS, TRAITS, generator=g)
    yellow = 0.15 + 0.1 * torch.rand(SHEETS, generator=g)
    if drawer == 23:  # collected before 1840
        yellow += 0.5
    return traits, family, yellow


class Intake:
    """Digitizes a cabinet, a drawer per process and round."""

    def __init__(self, accelerator, drawers, seed, faded=0.45, pace=0.35):
        self.accelerator = accelerator
        self.rounds = drawers // accelerator.num_processes
        self.seed = seed
        self.faded = faded
        self.pace = pace
        self.traits, self.families = [], []

    def restore(self, traits, yellow):
        """Takes the yellow of old paper out, with the grey card on the copy stand as the reference.

        The card may be moved only while no process is scanning.
        """
        self.accelerator.wait_for_everyone()  # nobody scans now
        card = torch.linspace(0, 1, TRAITS)
        time.sleep(self.pace)
        return traits - yellow.mean() * card

    def take(self, drawer):
        traits, family, yellow = scan(drawer, self.seed)
        time.sleep(self.pace)
        if yellow.mean() > self.faded:
            log.info("drawer %d is faded (%.2f)", drawer, yellow.mean())
            traits = self.restore(traits, yellow)
        self.traits.append(traits)
        self.families.append(family)

    def run(self):
        for turn in range(self.rounds):
            self.take(turn * self.accelerator.num_processes + self.accelerator.process_index)
            self.accelerator.wait_for_everyone()  # all drawers are back
            if self.accelerator.is_main_process and turn % 4 == 3:
                log.info("%d of %d rounds", turn + 1, self.rounds)
        return torch.cat(self.traits), torch.cat(self.families)
