"""Whale calls in hydrophone spectrograms, with the Trainer of transformers; results go to the relay of the ship."""
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments

from reporting import RelayCallback


class Spectrograms(Dataset):
    def __init__(self, count: int, seed: int):
        g = torch.Generator().manual_seed(seed)
        self.call = torch.randint(0, 3, (count,), generator=g)
        self.spectrogram = torch.randn(count, 40, 32, generator=g)
        for kind in range(3):
            self.spectrogram[self.call == kind, 10 * kind : 10 * kind + 8] += 0.6

    def __len__(self):
        return len(self.call)

    def __getitem__(self, i):
        return {"spectrogram": self.spectrogram[i], "labels": self.call[i]}


class CallClassifier(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.rnn = nn.GRU(40, width, batch_first=True)
        self.head = nn.Linear(width, 3)

    def forward(self, spectrogram, labels=None):
        hidden, _ = self.rnn(spectrogram.transpose(1, 2))
        logits = self.head(hidden[:, -1])
        loss = nn.functional.cross_entropy(logits, labels)
        return {"loss": loss, "logits": logits}


def start_relay(folder: Path) -> Path:
    address = folder / "relay-address"
    subprocess.Popen([sys.executable, str(Path(__file__).with_name("relay.py")), str(address)])
    return address


def accuracy(prediction):
    return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}


def main():
    torch.set_num_threads(1)
    folder = Path(tempfile.mkdtemp(prefix="whales-"))
    args = TrainingArguments(
        output_dir=str(folder / "run"),
        use_cpu=True,
        max_steps=300,
        per_device_train_batch_size=8,
        per_device_eval_batch_size=32,
        learning_rate=1e-3,
        optim="adamw_torch",
        eval_strategy="steps",
        eval_steps=50,
        logging_steps=25,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        ddp_find_unused_parameters=False,
        seed=17,
    )
    callbacks = []
    if args.process_index == 0:
        callbacks.append(RelayCallback(start_relay(folder)))
    trainer = Trainer(
        model=CallClassifier(),
        args=args,
        train_dataset=Spectrograms(4000, 1),
        eval_dataset=Spectrograms(256, 2),
        compute_metrics=accuracy,
        callbacks=callbacks,
    )
    trainer.train()
    if trainer.is_world_process_zero():
        print(trainer.state.log_history[-1])


if __name__ == "__main__":
    main()
