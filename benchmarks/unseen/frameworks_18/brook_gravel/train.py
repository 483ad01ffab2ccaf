"""Stone sizes in brooks with Accelerate: two stages, each until the loss has settled or the photographs run out."""

import argparse
import logging
from dataclasses import dataclass

import torch
from accelerate import Accelerator
from accelerate.logging import get_logger
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader

from beds import EDGES, GravelBeds
from settle import Settled

log = get_logger("gravel")


@dataclass
class Stage:
    name: str
    lr: float
    level: float


STAGES = [Stage("coarse", 2e-3, 0.03), Stage("fine", 5e-4, 0.02)]


class Surveyor:
    def __init__(self, args):
        self.args = args
        self.accelerator = Accelerator(cpu=True)
        model = nn.Sequential(nn.Linear(EDGES, 64), nn.SiLU(), nn.Linear(64, 1))
        optimizer = torch.optim.AdamW(model.parameters())
        beds = GravelBeds(args.bundles, args.batch, seed=1)
        log.info("photographs: %s", beds.describe())
        train = DataLoader(beds, args.batch)
        held_out = DataLoader(GravelBeds(30, args.batch, seed=2), args.batch)
        self.model, self.optimizer, self.train, self.held_out = self.accelerator.prepare(
            model, optimizer, train, held_out
        )

    def step(self, edges, size):
        loss = nn.functional.mse_loss(self.model(edges).squeeze(-1), size)
        self.accelerator.backward(loss)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.detach()

    def run(self, stage):
        for group in self.optimizer.param_groups:
            group["lr"] = stage.lr
        settled = Settled(self.accelerator, stage.level)
        steps = 0
        for edges, size in self.train:
            settled.add(self.step(edges, size))
            steps += 1
            if steps % self.args.check_every == 0 and settled.anywhere():
                log.info("%s: %r after %d steps", stage.name, settled, steps, main_process_only=False)
                break
        return self.evaluate()

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        errors = []
        for edges, size in self.held_out:
            error = (self.model(edges).squeeze(-1) - size).abs()
            errors.append(self.accelerator.gather_for_metrics(error))
        self.model.train()
        return torch.cat(errors).mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bundles", type=int, default=4800)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--check-every", type=int, default=10)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    set_seed(8)
    surveyor = Surveyor(args)
    for stage in STAGES:
        error = surveyor.run(stage)
        log.info("%s: mean error %.3f", stage.name, error)
    surveyor.accelerator.end_training()


if __name__ == "__main__":
    main()
