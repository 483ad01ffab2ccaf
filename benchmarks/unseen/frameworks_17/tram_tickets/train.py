"""Kinds of tram tickets from the journey, with the HF Trainer; class weights follow what has been sold."""

import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainerCallback, TrainingArguments, set_seed

log = logging.getLogger("tickets")

KINDS = ["single", "return", "day", "week", "dog", "group"]
FEATURES = 12


class Sales(Dataset):
    """Journeys in the order of sale. Groups travel in the high season, which is the start of the list, and seldom later."""

    def __init__(self, count, seed):
        g = torch.Generator().manual_seed(seed)
        self.kinds = torch.multinomial(torch.tensor([5.0, 3.0, 2.0, 1.0, 0.8]), count, replacement=True, generator=g)
        for position in (*range(3, 288, 5), 363, 375):
            self.kinds[position] = KINDS.index("group")
        shapes = torch.randn(len(KINDS), FEATURES, generator=torch.Generator().manual_seed(0))
        self.journeys = shapes[self.kinds] + torch.randn(count, FEATURES, generator=g)

    def __len__(self):
        return len(self.kinds)

    def __getitem__(self, i):
        return {"journey": self.journeys[i], "labels": self.kinds[i]}


class TicketModel(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(FEATURES, width), nn.ReLU(), nn.Linear(width, len(KINDS)))
        self.register_buffer("weights", torch.ones(len(KINDS)))

    def forward(self, journey, labels=None):
        logits = self.net(journey)
        return {"loss": nn.functional.cross_entropy(logits, labels, weight=self.weights), "logits": logits}


class Balance(TrainerCallback):
    """Weighs the kinds by the inverse of their frequency, counted over all processes in the steps since last time."""

    def __init__(self, every):
        self.every = every
        self.sold = []

    def saw(self, labels):
        self.sold.append(labels.detach().flatten())

    def on_step_end(self, args, state, control, model=None, **kwargs):
        if state.global_step % self.every:
            return
        counts = torch.bincount(torch.cat(self.sold)).float()
        self.sold.clear()
        dist.all_reduce(counts)
        weights = counts.sum() / (len(KINDS) * counts.clamp(min=1))
        model.weights[: len(weights)] = weights.clamp(max=4)
        if state.is_world_process_zero:
            log.info("step %d: %s", state.global_step, [round(w, 2) for w in weights.tolist()])


class TicketTrainer(Trainer):
    def __init__(self, *args, balance, **kwargs):
        super().__init__(*args, callbacks=[balance], **kwargs)
        self.balance = balance

    def _get_train_sampler(self, *args, **kwargs):
        return torch.utils.data.SequentialSampler(self.train_dataset)

    def compute_loss(self, model, inputs, *args, **kwargs):
        self.balance.saw(inputs["labels"])
        time.sleep(0.03)  # the price service is asked for the fares
        return super().compute_loss(model, inputs, *args, **kwargs)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tickets", type=int, default=2160)
    parser.add_argument("--every", type=int, default=8)
    parser.add_argument("--lr", type=float, default=3e-3)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.set_num_threads(1)
    set_seed(6)
    settings = TrainingArguments(
        output_dir="/tmp/tram_tickets",
        use_cpu=True,
        ddp_backend="gloo",
        per_device_train_batch_size=6,
        num_train_epochs=2,
        learning_rate=options.lr,
        logging_steps=16,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        remove_unused_columns=False,
    )
    sales = Sales(options.tickets, seed=1)
    trainer = TicketTrainer(model=TicketModel(), args=settings, train_dataset=sales, balance=Balance(options.every))
    trainer.train()


if __name__ == "__main__":
    main()
