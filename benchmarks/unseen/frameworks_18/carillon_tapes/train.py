"""Which bell of a carillon was struck, from digitised tapes, with the Trainer of transformers."""

import argparse
import logging
import tempfile

import torch
from torch import nn
from transformers import Trainer, TrainingArguments, set_seed

from tapes import BELLS, SAMPLES, Strikes, record

log = logging.getLogger("carillon")


class BellModel(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.filters = nn.Conv1d(1, 12, 9, stride=3)
        self.head = nn.Sequential(nn.LazyLinear(width), nn.GELU(), nn.Linear(width, BELLS))
        self(torch.zeros(1, SAMPLES))  # sizes the head

    def forward(self, samples, labels=None):
        features = torch.relu(self.filters(samples.unsqueeze(1))).flatten(1)
        logits = self.head(features)
        if labels is None:
            return {"logits": logits}
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tapes", type=int, default=60)
    parser.add_argument("--frames", type=int, default=24)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    torch.set_num_threads(1)
    set_seed(4)
    with tempfile.TemporaryDirectory(prefix="carillon_") as folder:
        register = record(folder, args.tapes, args.frames, lost=(39,))
        log.info("%d tapes, %d frames", len(register), sum(frames for _, frames in register))
        trainer = Trainer(
            model=BellModel(),
            args=TrainingArguments(
                output_dir=folder,
                per_device_train_batch_size=args.batch,
                num_train_epochs=args.epochs,
                learning_rate=2e-3,
                use_cpu=True,
                ddp_backend="gloo",
                ddp_find_unused_parameters=False,
                train_sampling_strategy="sequential",  # a tape is read once from its start
                dataloader_num_workers=args.workers,
                save_strategy="no",
                logging_steps=10,
                report_to=[],
                disable_tqdm=True,
            ),
            train_dataset=Strikes(register),
        )
        result = trainer.train()
    if trainer.is_world_process_zero():
        print(f"loss {result.training_loss:.4f}")


if __name__ == "__main__":
    main()
