"""Handwriting line recogniser as a three-stage pipeline (1F1B). The last stage
decodes its predictions every so often and scores them against the transcripts."""
import argparse
import functools
import time

import torch
import torch.nn as nn
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

COLUMNS, PIXELS, SYMBOLS = 14, 16, 10


def edit_distance(a, b):
    row = list(range(len(b) + 1))
    for i, ca in enumerate(a, 1):
        previous, row[0] = row[0], i
        for j, cb in enumerate(b, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (ca != cb))
    return row[-1]


class BeamScorer:
    """Keeps recent predictions; scoring them takes a while (lexicon look-ups)."""

    def __init__(self, keep=60):
        self.keep = keep
        self.recent = []

    def remember(self, logits, truth):
        self.recent += list(zip(logits.argmax(-1).tolist(), truth.tolist()))
        self.recent = self.recent[-self.keep :]

    def error_rate(self):
        wrong = total = 0
        for guess, truth in self.recent:
            for _beam in range(3):
                time.sleep(0.05)
                distance = edit_distance(guess, truth)
            wrong += distance
            total += len(truth)
        return wrong / max(1, total)


def sequence_loss(logits, truth):
    return nn.functional.cross_entropy(logits.flatten(0, 1), truth.flatten())


def module_for(stage):
    torch.manual_seed(40 + stage)
    dense = functools.partial(nn.Linear, 32, 32)
    if stage == 0:
        return nn.Sequential(nn.Linear(PIXELS, 32), nn.ReLU())
    if stage == 1:
        return nn.Sequential(dense(), nn.ReLU(), dense(), nn.ReLU())
    return nn.Linear(32, SYMBOLS)


def lines(seed, batch):
    g = torch.Generator().manual_seed(seed)
    prototypes = torch.randn(SYMBOLS, PIXELS, generator=torch.Generator().manual_seed(6))
    while True:
        truth = torch.randint(0, SYMBOLS, (batch, COLUMNS), generator=g)
        yield prototypes[truth] + 0.1 * torch.randn(batch, COLUMNS, PIXELS, generator=g), truth


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--score-at", type=int, nargs="*", default=[25, 50])
    parser.add_argument("--batch", type=int, default=12)
    args = parser.parse_args()

    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    module = module_for(rank)
    stage = PipelineStage(module, rank, world, torch.device("cpu"))
    schedule = Schedule1F1B(stage, n_microbatches=4, loss_fn=sequence_loss)
    optim = torch.optim.Adam(module.parameters(), lr=3e-3)
    scorer = BeamScorer()

    data = lines(seed=0, batch=args.batch)
    for step in range(1, args.steps + 1):
        images, truth = next(data)
        if stage.is_first:
            schedule.step(images)
        elif stage.is_last:
            logits = schedule.step(target=truth, losses=[])
            scorer.remember(logits, truth)
        else:
            schedule.step()
        optim.step()
        optim.zero_grad()
        time.sleep(0.01)
        if stage.is_last and step in args.score_at:
            print(f"step {step}: character error rate {scorer.error_rate():.3f}", flush=True)

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
