"""Delivery times of parcel routes with the Trainer of transformers; each worker trains on the routes of one depot."""
import tempfile

import torch
from torch import nn
from transformers import TrainingArguments

from depots import DepotTrainer, Routes


class DeliveryTime(nn.Module):
    """A transformer over the stops of a route."""

    def __init__(self, width=48):
        super().__init__()
        self.stop = nn.Linear(5, width)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.minutes = nn.Linear(width, 1)

    def forward(self, stops, labels=None):
        minutes = self.minutes(self.encoder(self.stop(stops)).mean(dim=1)).squeeze(-1)
        return {"loss": nn.functional.smooth_l1_loss(minutes, labels), "minutes": minutes}


def main():
    torch.set_num_threads(1)
    args = TrainingArguments(
        output_dir=tempfile.mkdtemp(prefix="routes-"),
        use_cpu=True,
        num_train_epochs=2,
        per_device_train_batch_size=8,
        per_device_eval_batch_size=32,
        learning_rate=5e-4,
        lr_scheduler_type="constant",
        optim="adamw_torch",
        eval_strategy="epoch",
        logging_steps=40,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        ddp_find_unused_parameters=False,
        seed=3,
    )
    trainer = DepotTrainer(
        model=DeliveryTime(),
        args=args,
        train_dataset=Routes.of_depot(args.process_index),
        eval_dataset=Routes(192, seed=99),
    )
    trainer.train()
    print(args.process_index, trainer.state.log_history[-1])


if __name__ == "__main__":
    main()
