"""Blasts of quarries told from small earthquakes: windows of a seismometer, trained with DeepSpeed (ZeRO 1)."""

import argparse
import logging
import time

import deepspeed
import torch
from deepspeed import comm
from torch import nn

from tally import ShotBook, Tally

log = logging.getLogger("quarry")
SAMPLES = 64


def config(args):
    return {
        "train_micro_batch_size_per_gpu": args.batch,
        "gradient_accumulation_steps": 1,
        "zero_optimization": {"stage": 1},
        "zero_allow_untested_optimizer": True,
        "gradient_clipping": 1.0,
        "steps_per_print": 100_000,
    }


class Seismometer:
    """Windows of one quarry: a blast is a short burst, an earthquake a longer one."""

    def __init__(self, quarry, batch):
        self.quarry = quarry
        self.batch = batch

    def window(self, week, number):
        g = torch.Generator().manual_seed(self.quarry * 1_000_000 + week * 1000 + number)
        time.sleep(0.03)  # the recorder is polled
        blast = torch.randint(0, 2, (self.batch,), generator=g)
        length = torch.where(blast == 1, 8.0, 24.0)[:, None]
        envelope = torch.exp(-torch.arange(SAMPLES) / length)
        trace = envelope * torch.randn(self.batch, SAMPLES, generator=g)
        return trace + 0.1 * torch.randn(self.batch, SAMPLES, generator=g), blast


def run_week(engine, week, args, recorder, book, tally):
    for number in range(args.windows):
        trace, blast = recorder.window(week, number)
        logits = engine(trace.abs())
        loss = nn.functional.cross_entropy(logits, blast)
        engine.backward(loss)
        engine.step()
        fired = int(blast.sum())
        tally.add("windows")
        tally.add("blasts", fired)
        tally.add("charges", book.charges(week, number, 6 * fired))
        tally.add("alarms", int((logits.argmax(-1) == 1).sum()))
        if loss.item() > 2.0:
            tally.add("misfires")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=-1)
    parser.add_argument("--weeks", type=int, default=5)
    parser.add_argument("--windows", type=int, default=50)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--hidden", type=int, default=48)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(message)s")
    log.setLevel(logging.INFO)
    torch.set_num_threads(1)
    torch.manual_seed(6)
    deepspeed.init_distributed(dist_backend="gloo")
    model = nn.Sequential(nn.Linear(SAMPLES, args.hidden), nn.ReLU(), nn.Linear(args.hidden, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=config(args))
    quarry = comm.get_rank()
    recorder, book, tally = Seismometer(quarry, args.batch), ShotBook(quarry), Tally()
    for week in range(args.weeks):
        run_week(engine, week, args, recorder, book, tally)
        total = tally.total()
        if quarry == 0:
            log.info("week %d: %s", week, total)
    comm.destroy_process_group()


if __name__ == "__main__":
    main()
