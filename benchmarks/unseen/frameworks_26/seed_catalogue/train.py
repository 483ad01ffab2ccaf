"""Germination rates of a seed catalogue with the Trainer, three nurseries together."""

import argparse
import logging
import os
import tempfile
import time

import torch
from transformers import Trainer, TrainingArguments, set_seed

from catalogue import Germination, Shelf, Trays
from hardcoat import HardCoat, Release


class NurseryTrainer(Trainer):
    """The Trainer, with a look at the sowing calendar in each step (which is on a slow share)."""

    def __init__(self, *args, look=0.02, **kwargs):
        super().__init__(*args, **kwargs)
        self.look = look

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        time.sleep(self.look)
        outputs = model(**inputs)
        return (outputs["loss"], outputs) if return_outputs else outputs["loss"]


def accuracy(prediction):
    guesses = torch.as_tensor(prediction.predictions) > 0
    return {"accuracy": (guesses == (torch.as_tensor(prediction.label_ids) > 0.5)).float().mean().item()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--trays", type=int, default=1200)
    parser.add_argument("--batch", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--hard-coat-from", type=int, default=2)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    set_seed(21)
    options = TrainingArguments(
        output_dir=os.path.join(tempfile.gettempdir(), f"seeds_{os.environ.get('MASTER_PORT', '0')}"),
        per_device_train_batch_size=args.batch,
        num_train_epochs=args.epochs,
        learning_rate=2e-3,
        logging_steps=40,
        save_strategy="no",
        use_cpu=True,
        ddp_find_unused_parameters=False,
        report_to=[],
        disable_tqdm=True,
    )
    hard_coat = HardCoat(Shelf(options.process_index), start=args.hard_coat_from)
    trainer = NurseryTrainer(
        model=Germination(),
        args=options,
        train_dataset=Trays(args.trays, 1),
        eval_dataset=Trays(240, 2),
        compute_metrics=accuracy,
        callbacks=[hard_coat, Release({3, 5}, os.path.join(options.output_dir, "releases"))],
    )
    trainer.train()
    metrics = trainer.evaluate()
    if trainer.is_world_process_zero():
        print(f"accuracy {metrics['eval_accuracy']:.3f}, correction {hard_coat.correction:+.3f}")


if __name__ == "__main__":
    main()
