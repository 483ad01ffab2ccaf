"""Reserve of insurance claims with the Trainer of transformers, and a live console on the first process."""
import tempfile

import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments

from console import LiveConsole

KINDS = 12


class Claims(Dataset):
    def __init__(self, count, seed):
        g = torch.Generator().manual_seed(seed)
        self.kind = torch.randint(0, KINDS, (count,), generator=g)
        self.facts = torch.randn(count, 10, generator=g)
        self.reserve = self.kind / KINDS + self.facts[:, :3].sum(1) * 0.2 + 0.1 * torch.randn(count, generator=g)

    def __len__(self):
        return len(self.kind)

    def __getitem__(self, i):
        return {"kind": self.kind[i], "facts": self.facts[i], "labels": self.reserve[i]}


class ReserveModel(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.kinds = nn.Embedding(KINDS, 8)
        self.net = nn.Sequential(nn.Linear(18, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, kind, facts, labels=None):
        reserve = self.net(torch.cat([self.kinds(kind), facts], dim=1)).squeeze(1)
        if labels is None:
            return {"reserve": reserve}
        return {"loss": nn.functional.huber_loss(reserve, labels), "reserve": reserve}


def mean_error(prediction):
    return {"mae": float(abs(prediction.predictions - prediction.label_ids).mean())}


def main():
    torch.set_num_threads(1)
    args = TrainingArguments(
        output_dir=tempfile.mkdtemp(prefix="claims-"),
        use_cpu=True,
        num_train_epochs=6,
        per_device_train_batch_size=16,
        per_device_eval_batch_size=64,
        learning_rate=1e-3,
        logging_steps=20,
        eval_strategy="epoch",
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        ddp_find_unused_parameters=False,
        seed=11,
    )
    trainer = Trainer(
        model=ReserveModel(),
        args=args,
        train_dataset=Claims(3840, 1),
        eval_dataset=Claims(640, 2),
        compute_metrics=mean_error,
        callbacks=[LiveConsole()],
    )
    trainer.train()
    print(trainer.evaluate())


if __name__ == "__main__":
    main()
