"""Dyes of old tapestries from reflectance spectra, with the Trainer of transformers."""

import argparse
import logging
import tempfile

import torch
from transformers import Trainer, TrainingArguments, set_seed

from dyes import DyeClassifier, WoolSamples
from swatches import SwatchStrip


def accuracy(prediction):
    named = prediction.predictions.argmax(-1)
    return {"accuracy": float((named == prediction.label_ids).mean())}


def training_arguments(args, folder):
    return TrainingArguments(
        output_dir=folder,
        per_device_train_batch_size=args.batch,
        per_device_eval_batch_size=64,
        num_train_epochs=args.epochs,
        learning_rate=args.lr,
        use_cpu=True,
        ddp_backend="gloo",
        ddp_find_unused_parameters=False,
        eval_strategy="epoch",
        save_strategy="no",
        logging_steps=50,
        report_to=[],
        disable_tqdm=True,
        dataloader_drop_last=True,
        seed=args.seed,
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=4800)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=21)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    torch.set_num_threads(1)
    set_seed(args.seed)
    held_out = WoolSamples(384, seed=2)
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(
            model=DyeClassifier(),
            args=training_arguments(args, folder),
            train_dataset=WoolSamples(args.samples, seed=1),
            eval_dataset=held_out,
            compute_metrics=accuracy,
        )
        SwatchStrip([held_out[i] for i in range(12)]).attach(trainer)
        trainer.train()
        metrics = trainer.evaluate()
    if trainer.is_world_process_zero():
        print(f"accuracy {metrics['eval_accuracy']:.3f}")


if __name__ == "__main__":
    main()
