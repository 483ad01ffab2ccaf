"""Soil moisture from probe readings with the Trainer of transformers (two workers, CPU)."""
import torch
from torch import nn
from transformers import Trainer, TrainingArguments

from probes import ProbeCollator, ProbeRecords
from scratch import Scratch


class MoistureModel(nn.Module):
    def __init__(self, width=256):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(24, width), nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, width), nn.GELU()
        )
        self.moisture = nn.Linear(width, 1)

    def forward(self, readings, labels=None):
        moisture = self.moisture(self.net(readings)).squeeze(-1)
        return {"loss": nn.functional.mse_loss(moisture, labels), "moisture": moisture}


def build(folder: str) -> Trainer:
    args = TrainingArguments(
        output_dir=folder,
        use_cpu=True,
        max_steps=400,
        per_device_train_batch_size=8,
        train_sampling_strategy="sequential",
        learning_rate=1e-3,
        optim="adamw_torch",
        logging_steps=50,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        remove_unused_columns=False,
        ddp_find_unused_parameters=False,
        seed=12,
    )
    return Trainer(
        model=MoistureModel(),
        args=args,
        train_dataset=ProbeRecords(6400),
        data_collator=ProbeCollator(),
    )


def main():
    torch.set_num_threads(1)
    scratch = Scratch("soil")
    trainer = build(scratch.folder)
    with scratch.shared_by(trainer.accelerator):
        trainer.train()
        trainer.save_model()
    trainer.accelerator.print("finished")


if __name__ == "__main__":
    main()
