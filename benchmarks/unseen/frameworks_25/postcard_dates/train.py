"""When was a postcard sent? A regression on its words, with the Trainer."""

import argparse
import tempfile
import time

import torch
from torch import nn
from torch.utils.data import SequentialSampler
from transformers import Trainer, TrainerCallback, TrainingArguments

from cards import LENGTH, WORDS, Postcards, catalogue


class DateModel(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.words = nn.Embedding(WORDS, width)
        self.head = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, 1))

    def forward(self, words, age=None):
        years = self.head(self.words(words).mean(1)).squeeze(-1) + 10
        output = {"logits": years}
        if age is not None:
            output["loss"] = nn.functional.smooth_l1_loss(years, age)
        return output


class CatalogueTrainer(Trainer):
    """Reads the cards in the order of the catalogue, which has been shuffled when it was printed."""

    def _get_train_sampler(self, train_dataset=None):
        return SequentialSampler(self.train_dataset)


class Pace(TrainerCallback):
    """Leaves the shared disk some air between batches."""

    def __init__(self, pause):
        self.pause = pause

    def on_step_begin(self, args, state, control, **kwargs):
        time.sleep(self.pause)


def mean_error(prediction):
    return {"years": float(abs(prediction.predictions - prediction.label_ids).mean())}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cards", type=int, default=1800)
    parser.add_argument("--held-out", type=int, default=300)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--pause", type=float, default=0.05)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        args = TrainingArguments(
            output_dir=folder,
            per_device_train_batch_size=options.batch,
            per_device_eval_batch_size=options.batch * 4,
            num_train_epochs=options.epochs,
            learning_rate=3e-3,
            eval_strategy="epoch",
            logging_steps=25,
            save_strategy="no",
            label_names=["age"],
            report_to=[],
            use_cpu=True,
            ddp_backend="gloo",
            disable_tqdm=True,
        )
        trainer = CatalogueTrainer(
            model=DateModel(),
            args=args,
            train_dataset=Postcards(catalogue(options.cards, seed=1)),
            eval_dataset=Postcards(catalogue(options.held_out, seed=2)),
            compute_metrics=mean_error,
            callbacks=[Pace(options.pause)],
        )
        trainer.train()
        print(trainer.evaluate())


if __name__ == "__main__":
    main()
