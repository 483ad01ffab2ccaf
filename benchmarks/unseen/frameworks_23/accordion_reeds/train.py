"""The pitch of accordion reeds from their geometry, with the Trainer of transformers."""

import argparse
import logging
import tempfile
import time

import torch
from torch import nn
from torch.utils.data import Dataset, SequentialSampler
from transformers import Trainer, TrainingArguments

from watch import LossTape, SecondOpinion

FEATURES = 12


class Reeds(Dataset):
    """Reeds in the order in which they left the bench; each has its geometry and its pitch in semitones."""

    def __init__(self, count, seed, in_millimetres=()):
        g = torch.Generator().manual_seed(seed)
        law = torch.randn(FEATURES, generator=torch.Generator().manual_seed(0)) / FEATURES**0.5
        self.geometry = torch.randn(count, FEATURES, generator=g)
        self.pitch = self.geometry @ law + 0.3 * torch.randn(count, generator=g)
        for i in in_millimetres:  # these were entered with the other gauge
            self.geometry[i] *= 25.4

    def __len__(self):
        return len(self.pitch)

    def __getitem__(self, i):
        return {"geometry": self.geometry[i], "labels": self.pitch[i]}


class ReedModel(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(FEATURES, width), nn.SiLU(), nn.Linear(width, 1))

    def forward(self, geometry, labels=None):
        pitch = self.net(geometry).squeeze(-1)
        return {"loss": nn.functional.smooth_l1_loss(pitch, labels), "logits": pitch}


class BenchTrainer(Trainer):
    """Keeps the order of the bench, and writes each loss to a tape."""

    def __init__(self, *args, tape, **kwargs):
        super().__init__(*args, **kwargs)
        self.tape = tape

    def _get_train_sampler(self, train_dataset=None):
        return SequentialSampler(self.train_dataset)

    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = super().training_step(model, inputs, num_items_in_batch)
        self.tape.write(loss.item())
        time.sleep(0.03)
        return loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--reeds", type=int, default=6000)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(name)s %(message)s")
    torch.set_num_threads(1)
    training = TrainingArguments(
        output_dir=tempfile.mkdtemp(prefix="reeds-"),
        use_cpu=True,
        ddp_backend="gloo",
        num_train_epochs=args.epochs,
        per_device_train_batch_size=8,
        per_device_eval_batch_size=32,
        learning_rate=args.lr,
        eval_strategy="epoch",
        logging_steps=50,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        average_tokens_across_devices=False,
        remove_unused_columns=False,
        seed=8,
    )
    tape = LossTape()
    trainer = BenchTrainer(
        model=ReedModel(),
        args=training,
        train_dataset=Reeds(args.reeds, seed=1, in_millimetres=range(3392, 3400)),
        eval_dataset=Reeds(600, seed=2),
        callbacks=[SecondOpinion(tape)],
        tape=tape,
    )
    trainer.train()
    logging.info("done: %s", trainer.evaluate())


if __name__ == "__main__":
    main()
