"""Output of windmills from their logs, trained with DeepSpeed ZeRO stage 3 on CPUs; one mill per process."""

import argparse
import logging
import os
import tempfile

os.environ.setdefault("DS_ACCELERATOR", "cpu")

import deepspeed
import torch
from deepspeed import comm as dist
from torch.utils.data import DataLoader

from mill import MillLog, PowerCurve
from sheet import ConditionSheet

log = logging.getLogger("mills")


def zero_config(args):
    return {
        "train_micro_batch_size_per_gpu": args.batch,
        "gradient_clipping": 1.0,
        "zero_allow_untested_optimizer": True,
        "zero_force_ds_cpu_optimizer": False,
        "zero_optimization": {"stage": 3, "stage3_param_persistence_threshold": 0},
        "steps_per_print": 10_000,
    }


class MillTrainer:
    def __init__(self, args):
        self.args = args
        network = PowerCurve(args.width)
        self.engine, _, _, _ = deepspeed.initialize(
            model=network,
            optimizer=torch.optim.AdamW(network.parameters(), lr=args.lr),
            config=zero_config(args),
        )
        rank = dist.get_rank()
        data = MillLog(args.minutes, mill=rank)
        self.loader = DataLoader(data, args.batch, shuffle=True, drop_last=True)
        self.sheet = ConditionSheet(args.sheet, rank, args.sheet_every)
        self.step = 0

    def batch_loss(self, rows, power):
        return torch.nn.functional.smooth_l1_loss(self.engine(rows), power)

    def epoch(self):
        total = torch.zeros(())
        for rows, power in self.loader:
            loss = self.batch_loss(rows, power)
            self.engine.backward(loss)
            self.engine.step()
            total += loss.detach()
            self.step += 1
            if self.sheet.due(self.step):
                self.sheet.write(self.engine.module, self.step)
                dist.barrier()  # the page belongs to the weights of this step
        dist.all_reduce(total)
        return total.item() / len(self.loader) / dist.get_world_size()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=int, default=1600)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--sheet-every", type=int, default=150)
    parser.add_argument("--sheet", default=os.path.join(tempfile.gettempdir(), "windmill_sails.txt"))
    parser.add_argument("--local_rank", type=int, default=0)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    torch.set_num_threads(1)
    torch.manual_seed(11)
    deepspeed.init_distributed(dist_backend="gloo", verbose=False)
    trainer = MillTrainer(args)
    for epoch in range(args.epochs):
        mean = trainer.epoch()
        if dist.get_rank() == 0:
            log.info("epoch %d: loss %.4f", epoch, mean)
    dist.barrier()


if __name__ == "__main__":
    main()
