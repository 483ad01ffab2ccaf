"""Which clerk wrote a line of a ledger? With the Trainer of transformers, on three processes."""

import argparse
import logging
import tempfile
import time

import torch
from torch.utils.data import SequentialSampler
from transformers import Trainer, TrainingArguments, set_seed

from ledgers import HandModel, Ledgers
from watch import EvaluateAfterJump, LossMeter


class HandTrainer(Trainer):
    """Reads the ledgers in the order of their pages, and measures the loss of every step."""

    def __init__(self, *args, meter, **kwargs):
        super().__init__(*args, **kwargs)
        self.meter = meter

    def _get_train_sampler(self, train_dataset=None):
        return SequentialSampler(train_dataset if train_dataset is not None else self.train_dataset)

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        outputs = model(**inputs)
        if model.training:
            self.meter.add(outputs["loss"].item())
            time.sleep(0.03)  # the scans are unwarped here
        return (outputs["loss"], outputs) if return_outputs else outputs["loss"]


def accuracy(prediction):
    return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lines", type=int, default=3600)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--epochs", type=float, default=2)
    parser.add_argument("--lr", type=float, default=5e-3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    set_seed(12)
    meter = LossMeter()
    with tempfile.TemporaryDirectory() as folder:
        trainer = HandTrainer(
            model=HandModel(),
            args=TrainingArguments(
                output_dir=folder,
                use_cpu=True,
                per_device_train_batch_size=args.batch,
                per_device_eval_batch_size=32,
                num_train_epochs=args.epochs,
                learning_rate=args.lr,
                eval_strategy="epoch",
                save_strategy="no",
                logging_steps=50,
                report_to=[],
                disable_tqdm=True,
            ),
            train_dataset=Ledgers(args.lines, seed=1, copied=range(2056, 2064)),
            eval_dataset=Ledgers(480, seed=2),
            compute_metrics=accuracy,
            callbacks=[EvaluateAfterJump(meter)],
            meter=meter,
        )
        trainer.train()


if __name__ == "__main__":
    main()
