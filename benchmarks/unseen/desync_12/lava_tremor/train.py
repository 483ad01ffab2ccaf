"""Energy of volcanic tremor by two seismometers; four volcanoes, one for each process."""

import argparse
import sys
from dataclasses import dataclass, fields

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader

from learner import Learner
from stations import Windows, usable


@dataclass
class Settings:
    windows: int = 4_960
    batch: int = 8
    width: int = 26
    lr: float = 1e-3
    rest: float = 0.0065
    report: int = 100

    @classmethod
    def parse(cls, argv):
        parser = argparse.ArgumentParser()
        for field in fields(cls):
            parser.add_argument("--" + field.name, type=field.type, default=field.default)
        return cls(**vars(parser.parse_args(argv)))


def tremor(settings, rank):
    rim_learner = Learner("rim", settings.width, settings.lr)
    foot_learner = Learner("foot", settings.width, settings.lr)
    loader = DataLoader(Windows(rank, settings.windows, settings.rest), settings.batch, drop_last=True)
    for count, (rim, foot, energy) in enumerate(loader, 1):
        rim_learner.learn(rim, energy, usable(rim))
        foot_learner.learn(foot, energy, usable(foot))
        if rank == 0 and count % settings.report == 0:
            print(count, rim_learner.summary(), foot_learner.summary(), flush=True)
    return rim_learner, foot_learner


def main():
    settings = Settings.parse(sys.argv[1:])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(23)
    learners = tremor(settings, dist.get_rank())
    dist.barrier()
    print(f"volcano {dist.get_rank()}:", ", ".join(learner.summary() for learner in learners), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
