"""Tell whistled commands apart."""

import argparse
import logging

import lightning as L
import torch

from sheet import ConfusionSheet
from shepherd import COMMANDS, CommandModel, Field


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--whistles", type=int, default=1200)
    parser.add_argument("--batch", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=9)
    parser.add_argument("--sheet-every", type=int, default=4)
    parser.add_argument("--processes", type=int, default=3)
    return parser.parse_args()


def build_trainer(args):
    return L.Trainer(
        accelerator="cpu",
        devices=args.processes,
        strategy="ddp",
        max_epochs=args.epochs,
        callbacks=[ConfusionSheet(COMMANDS, args.sheet_every)],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
    )


def main():
    args = arguments()
    logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
    torch.set_num_threads(1)
    L.seed_everything(25)
    trainer = build_trainer(args)
    trainer.fit(CommandModel(), Field(args.whistles, args.batch))
    if trainer.is_global_zero:
        print(f"trial loss {trainer.callback_metrics['trial_loss'].item():.3f}")


if __name__ == "__main__":
    main()
