"""What do letters to the toll office want? A bag of words, trained by the HF Trainer on letters cleaned on the fly."""

import random
from dataclasses import dataclass, field

import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import HfArgumentParser, Trainer, TrainingArguments, set_seed

from cleaning import Vocabulary, clean

WISHES = ["refund", "complaint", "address", "thanks"]
OPENINGS = {
    "refund": ["I was charged {} twice, please return it!", "The gate took {} too much: please pay it back!"],
    "complaint": ["The gate was shut for an hour!", "Nobody answers me, and I waited for {} minutes!"],
    "address": ["We have moved; please write to house {}!", "My new address is below: number {}."],
    "thanks": ["Thank you for the quick help!", "My {} came back within a day - thank you!"],
}
NAMES = ["J. Harker", "Mina Murray, Mrs", "A. van Helsing", "L. Westenra, Ms", "R. M. Renfield"]
# a form that was scanned with its dotted line read as letters
SCANNED = "Iwasxchargedxtwicexonxthexbridgexandxaskxforxaxrefundxofxthextollx:"


@dataclass
class Options:
    letters: int = field(default=960)
    vocabulary: int = field(default=512)
    width: int = field(default=32)


class Letters(Dataset):
    def __init__(self, count, vocabulary, seed):
        rng = random.Random(seed)
        self.vocabulary = vocabulary
        self.rows = []
        for i in range(count):
            wish = rng.randrange(len(WISHES))
            body = rng.choice(OPENINGS[WISHES[wish]]).format(f"{rng.randrange(1, 90)}.50")
            self.rows.append((f"Dear office!\n{body}\n{rng.choice(NAMES)}", wish))

    def append_scan(self, position):
        self.rows[position] = (f"Dear office!\n{SCANNED}\n{NAMES[0]}", WISHES.index("refund"))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        letter, wish = self.rows[i]
        return {"words": torch.tensor(self.vocabulary.encode(clean(letter))), "labels": torch.tensor(wish)}


class WishModel(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.embedding = nn.EmbeddingBag(options.vocabulary, options.width, padding_idx=0)
        self.head = nn.Sequential(nn.ReLU(), nn.Linear(options.width, len(WISHES)))

    def forward(self, words, labels=None):
        logits = self.head(self.embedding(words))
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


class InOrderTrainer(Trainer):
    """The letters are read in the order of arrival, as the office does."""

    def _get_train_sampler(self, *args, **kwargs):
        return torch.utils.data.SequentialSampler(self.train_dataset)


def main():
    (options,) = HfArgumentParser(Options).parse_args_into_dataclasses()
    torch.set_num_threads(1)
    set_seed(2)
    letters = Letters(options.letters, Vocabulary(options.vocabulary), seed=4)
    letters.append_scan(options.letters // 2 + 13)
    settings = TrainingArguments(
        output_dir="/tmp/toll_letters",
        use_cpu=True,
        ddp_backend="gloo",
        per_device_train_batch_size=8,
        num_train_epochs=3,
        learning_rate=5e-3,
        logging_steps=10,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        remove_unused_columns=False,
    )
    trainer = InOrderTrainer(model=WishModel(options), args=settings, train_dataset=letters)
    result = trainer.train()
    if trainer.is_world_process_zero():
        print(f"{result.training_loss:.3f} after {result.global_step} steps")


if __name__ == "__main__":
    main()
