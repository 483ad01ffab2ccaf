"""Regress the weight of a parcel from its scan; every process reads its own depot."""
import os
import tempfile

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from transformers import Trainer, TrainingArguments

from callbacks import ProbeOnSpike


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(9, 32), nn.SiLU(), nn.Linear(32, 1))

    def forward(self, scan=None, labels=None):
        y = self.net(scan).squeeze(-1)
        return {"loss": nn.functional.l1_loss(y, labels), "logits": y}


def depot(number, n=480):
    g = torch.Generator().manual_seed(number)
    scan = torch.rand(n, 9, generator=g)
    kilos = scan.sum(1) + 0.1 * torch.randn(n, generator=g)
    if number == 2:
        kilos[208:216] *= 1000.0        # one pallet was weighed in grams
    return TensorDataset(scan, kilos)


def collate(rows):
    scan, kilos = zip(*rows)
    return {"scan": torch.stack(scan), "labels": torch.stack(kilos)}


class DepotTrainer(Trainer):
    step_loss = 0.0

    def get_train_dataloader(self):
        return DataLoader(self.train_dataset, batch_size=8, collate_fn=collate)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        out = model(**inputs)
        self.step_loss = out["loss"].item()
        return (out["loss"], out) if return_outputs else out["loss"]


def main():
    args = TrainingArguments(
        output_dir=os.path.join(tempfile.gettempdir(), "parcels"), use_cpu=True, ddp_backend="gloo",
        ddp_find_unused_parameters=False, per_device_eval_batch_size=8, num_train_epochs=1,
        eval_strategy="epoch", save_strategy="no", logging_strategy="epoch", report_to=[],
        disable_tqdm=True, remove_unused_columns=False)
    torch.manual_seed(0)
    probe = ProbeOnSpike()
    trainer = DepotTrainer(model=Scale(), args=args, train_dataset=depot(int(os.environ["RANK"])),
                           eval_dataset=depot(77, 96), data_collator=collate, callbacks=[probe])
    probe.bind(trainer)
    trainer.train()
    print(trainer.evaluate())
    trainer.accelerator.wait_for_everyone()


if __name__ == "__main__":
    main()
