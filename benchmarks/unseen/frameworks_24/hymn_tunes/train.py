"""Harmonises hymn tunes with the Trainer."""

import argparse
import tempfile
import time

import torch
from torch import nn
from transformers import Trainer, TrainingArguments, set_seed

from callbacks import EvaluateAfterSpike, LossMeter
from tunes import NOTES, VOICES, Hymnal


class Harmoniser(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(NOTES, width), nn.Tanh(), nn.Linear(width, VOICES))

    def forward(self, melody, labels):
        voices = self.net(melody)
        return {"loss": nn.functional.mse_loss(voices, labels), "logits": voices}


class HymnTrainer(Trainer):
    """Keeps the loss of each step in a meter."""

    def __init__(self, *args, meter, **kwargs):
        super().__init__(*args, **kwargs)
        self.meter = meter

    def training_step(self, *args, **kwargs):
        time.sleep(0.03)
        loss = super().training_step(*args, **kwargs)
        self.meter.add(loss.item())
        return loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tunes", type=int, default=7200)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(1)
    set_seed(11)
    # the supplement of 1931 was typed by another hand
    supplement = range(205 * args.batch, 206 * args.batch)
    meter = LossMeter(window=40)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            use_cpu=True,
            per_device_train_batch_size=args.batch,
            per_device_eval_batch_size=args.batch,
            num_train_epochs=args.epochs,
            learning_rate=2e-3,
            train_sampling_strategy="sequential",
            eval_strategy="epoch",
            logging_steps=50,
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
        )
        trainer = HymnTrainer(
            model=Harmoniser(),
            args=arguments,
            train_dataset=Hymnal(args.tunes, seed=1, transposed=supplement),
            eval_dataset=Hymnal(480, seed=2),
            callbacks=[EvaluateAfterSpike(meter)],
            meter=meter,
        )
        trainer.train()
        result = trainer.evaluate()
    if trainer.is_world_process_zero():
        print(f"mean squared error {result['eval_loss']:.4f}", flush=True)


if __name__ == "__main__":
    main()
