"""Reads the district from the postcode of a letter. Every process has the camera of one sorting line."""

import argparse
import logging

import lightning as L
import torch
from torch import nn

from mail import DISTRICTS, PIXELS, shift_loader

log = logging.getLogger("letters")


class Reader(L.LightningModule):
    def __init__(self, width, lr, darkest):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(PIXELS, width), nn.GELU(), nn.Linear(width, DISTRICTS))
        self.criterion = nn.CrossEntropyLoss()
        self.read = 0

    def training_step(self, dataloader_iter):
        """Takes the batch from the iterator itself, so that pictures without light need no step."""
        (images, districts), _, _ = next(dataloader_iter)
        while images.mean() < self.hparams.darkest:
            log.info("line %d: no light in this batch", self.global_rank)
            (images, districts), _, _ = next(dataloader_iter)
        self.read += len(images)
        return self.criterion(self.net(images - images.mean()), districts)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)


class Report(L.Callback):
    def __init__(self, every):
        self.every = every

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        if trainer.is_global_zero and trainer.global_step % self.every == 0:
            log.info("step %d: %.3f (%d letters)", trainer.global_step, float(outputs["loss"]), module.read)


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batches", type=int, default=480)
    parser.add_argument("--batch-size", type=int, default=10)
    parser.add_argument("--width", type=int, default=48)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--darkest", type=float, default=0.05)
    parser.add_argument("--lines", type=int, default=3)
    return parser.parse_args()


def main():
    args = parse()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    L.seed_everything(13, verbose=False)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=args.lines,
        strategy="ddp",
        max_epochs=1,
        use_distributed_sampler=False,
        callbacks=[Report(50)],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    reader = Reader(args.width, args.lr, args.darkest)
    loader = shift_loader(trainer.global_rank, args.batch_size, args.batches)
    trainer.fit(reader, loader)
    trainer.save_checkpoint("/dev/null")
    log.info("line %d: done", trainer.global_rank)


if __name__ == "__main__":
    main()
