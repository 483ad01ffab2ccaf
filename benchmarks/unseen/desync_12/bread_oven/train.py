"""The colour of crusts in three ovens; Lightning."""

import argparse

import lightning as L
import torch

from crust import Bulletin, Crust
from probes import Bakery


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shifts", type=int, default=3)
    parser.add_argument("--records", type=int, default=1_040)
    parser.add_argument("--batch-size", type=int, default=8)
    return parser.parse_args()


def main():
    args = parse()
    torch.set_num_threads(1)
    L.seed_everything(44, verbose=False)
    bakery = Bakery(args.records, args.batch_size)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=3,
        strategy="ddp",
        max_epochs=args.shifts,
        use_distributed_sampler=False,
        callbacks=[Bulletin()],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    module = Crust()
    trainer.fit(module, datamodule=bakery)
    trainer.strategy.barrier("end of the bake")
    print(f"oven {trainer.global_rank}: {module.turns} turns, {bakery.log_of_oven.again} asked again", flush=True)


if __name__ == "__main__":
    main()
