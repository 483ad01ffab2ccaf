"""Character model of street names with the Trainer; it runs on idle machines at night and leaves on a notice."""
import tempfile

import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainerCallback, TrainingArguments

import cluster
from preemption import LeaveOnNotice

ALPHABET = 30


class StreetNames(Dataset):
    def __init__(self, count, seed):
        g = torch.Generator().manual_seed(seed)
        start = torch.randint(0, ALPHABET, (count, 1), generator=g)
        self.names = (start + torch.arange(17) * 7 + torch.randint(0, 3, (count, 17), generator=g)) % ALPHABET

    def __len__(self):
        return len(self.names)

    def __getitem__(self, i):
        return {"letters": self.names[i, :-1], "labels": self.names[i, 1:]}


class NameModel(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.embed = nn.Embedding(ALPHABET, width)
        self.body = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, ALPHABET)

    def forward(self, letters, labels=None):
        scores = self.head(self.body(self.embed(letters))[0])
        if labels is None:
            return {"scores": scores}
        return {"loss": nn.functional.cross_entropy(scores.flatten(0, 1), labels.flatten()), "scores": scores}


class RegisterWithCluster(TrainerCallback):
    def on_train_begin(self, args, state, control, **kwargs):
        cluster.register(seconds=3)


def main():
    torch.set_num_threads(1)
    args = TrainingArguments(
        output_dir=tempfile.mkdtemp(prefix="names-"),
        use_cpu=True,
        max_steps=20000,
        per_device_train_batch_size=32,
        per_device_eval_batch_size=64,
        learning_rate=2e-3,
        lr_scheduler_type="cosine",
        logging_steps=100,
        save_strategy="steps",
        save_steps=5000,
        save_total_limit=2,
        report_to="none",
        disable_tqdm=True,
        ddp_find_unused_parameters=False,
        seed=1,
    )
    trainer = Trainer(
        model=NameModel(),
        args=args,
        train_dataset=StreetNames(20000, 1),
        eval_dataset=StreetNames(600, 2),
        callbacks=[LeaveOnNotice(), RegisterWithCluster()],
    )
    trainer.train()
    metrics = trainer.evaluate()
    if trainer.is_world_process_zero():
        print(metrics)


if __name__ == "__main__":
    main()
