"""Gloss of a glaze from the curve of its firing; three kilns, one process each."""

import argparse
import time

import lightning as L
import torch
from lightning.pytorch.loops.training_epoch_loop import _TrainingEpochLoop

from data import KilnData
from model import Glaze


class QuietEpochLoop(_TrainingEpochLoop):
    """An epoch without the message about SIGTERM before each batch; the workshop's machine sends none."""

    def _broadcast_sigterm_tensor(self):
        return None


class Log(L.Callback):
    def __init__(self, every):
        self.every, self.started = every, time.monotonic()

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        if trainer.is_global_zero and batch_idx % self.every == 0:
            seconds = time.monotonic() - self.started
            print(f"[{seconds:5.1f} s] batch {batch_idx}: {float(outputs['loss']):.3f}", flush=True)


def build_trainer(args):
    trainer = L.Trainer(
        accelerator="cpu",
        devices=args.kilns,
        strategy="ddp",
        max_epochs=1,
        use_distributed_sampler=False,
        callbacks=[Log(60)],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    loop = trainer.fit_loop.epoch_loop
    trainer.fit_loop.epoch_loop = QuietEpochLoop(trainer, loop.min_steps, loop.max_steps)
    return trainer


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kilns", type=int, default=3)
    parser.add_argument("--firings", type=int, default=3600)
    parser.add_argument("--batch-size", type=int, default=6)
    args = parser.parse_args()
    torch.set_num_threads(1)
    L.seed_everything(40, verbose=False)
    trainer = build_trainer(args)
    trainer.fit(Glaze(), datamodule=KilnData(args.firings, args.batch_size))
    trainer.strategy.barrier("fired")
    print(f"kiln {trainer.global_rank}: finished", flush=True)


if __name__ == "__main__":
    main()
