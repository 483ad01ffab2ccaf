"""Growth of lava domes with Lightning: a run in two legs, the second of which goes on from the checkpoint."""

import argparse
import logging
import pathlib
import tempfile
import time

import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping

from domes import Domes, GrowthModel
from observatory import Bulletin, HazardMap

log = logging.getLogger("domes")


def leg(args, epochs):
    return L.Trainer(
        accelerator="cpu",
        devices=3,
        strategy="ddp",
        max_epochs=epochs,
        callbacks=[Bulletin(), HazardMap(), EarlyStopping("val_mse", patience=2, min_delta=0.02, verbose=True)],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        accumulate_grad_batches=args.accumulate,
    )


def shared_folder(trainer):
    """A folder that the first process makes and names to the others."""
    own = tempfile.mkdtemp(prefix="domes") if trainer.is_global_zero else None
    return pathlib.Path(trainer.strategy.broadcast(own))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--observations", type=int, default=340)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--accumulate", type=int, default=2)
    parser.add_argument("--first-leg", type=int, default=3)
    parser.add_argument("--second-leg", type=int, default=6)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    L.seed_everything(2)
    domes = Domes(args.observations, args.batch)
    first = leg(args, args.first_leg)
    model = GrowthModel()
    first.fit(model, domes)
    checkpoint = shared_folder(first) / "leg.ckpt"
    first.save_checkpoint(checkpoint)
    if first.is_global_zero:
        time.sleep(2.0)  # a copy goes to the tape
    second = leg(args, args.second_leg)
    second.fit(model, domes, ckpt_path=checkpoint)
    second.strategy.barrier()
    if second.is_global_zero:
        checkpoint.unlink()
        checkpoint.parent.rmdir()
        log.info("ended in epoch %d", second.current_epoch)


if __name__ == "__main__":
    main()
