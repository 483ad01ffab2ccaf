import argparse
import math
import os

import torch
import torch.distributed as dist
import yaml

from fairlite.criterion import LabelSmoothedCrossEntropy
from fairlite.data import EpochIterator
from fairlite.distributed_utils import infer_init
from fairlite.model import TranslationTransformer
from fairlite.trainer import Trainer


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("config")
    parser.add_argument("--save-dir", default="checkpoints")
    parser.add_argument("--log-interval", type=int, default=50)
    args = parser.parse_args()
    with open(args.config) as f:
        cfg = yaml.safe_load(f)

    rank, world_size, device_id = infer_init()
    torch.manual_seed(cfg["seed"] + rank)
    os.makedirs(args.save_dir, exist_ok=True)

    def iterator(split):
        return EpochIterator(cfg["data"], split, cfg["dataset"]["max_tokens"], rank, world_size,
                             cfg["dataset"]["num_workers"], cfg["seed"])

    train_itr, valid_itr = iterator("train"), iterator("valid")
    trainer = Trainer(cfg["optimization"], TranslationTransformer(**cfg["model"]),
                      LabelSmoothedCrossEntropy(**cfg["criterion"]), rank, world_size, device_id)
    best = math.inf
    for epoch in range(1, cfg["optimization"]["max_epoch"] + 1):
        for samples in train_itr.next_epoch_itr(epoch, group=cfg["optimization"]["update_freq"]):
            stats = trainer.train_step(samples)
            if rank == 0 and trainer.num_updates % args.log_interval == 0:
                print(f"| epoch {epoch:03d} | num_updates {trainer.num_updates} "
                      f"| loss {stats['loss'] / stats['sample_size'] / math.log(2):.3f} "
                      f"| lr {stats['lr']:.3g} | gnorm {stats['gnorm']:.3f}", flush=True)
        nll = trainer.validate(valid_itr.valid_itr())
        if rank == 0:
            print(f"| epoch {epoch:03d} | valid ppl {math.exp(min(nll, 20)):.2f}", flush=True)
        trainer.save_checkpoint(os.path.join(args.save_dir, "checkpoint_last.pt"), epoch)
        if nll < best:
            best = nll
            trainer.save_checkpoint(os.path.join(args.save_dir, "checkpoint_best.pt"), epoch)
    if world_size > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
