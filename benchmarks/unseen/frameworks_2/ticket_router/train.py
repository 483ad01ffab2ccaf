#!/usr/bin/env python
"""Routes support tickets to teams; a report page is rendered on the way and a model card at the end."""
import html
import json
import math
import os
import random
import time

import torch
import torch.distributed as dist
from datasets import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments

TEAMS = ["billing", "network", "hardware", "accounts"]


def tickets(n):
    rng = random.Random(31)
    rows = {"input_ids": [], "attention_mask": [], "labels": []}
    for _ in range(n):
        team = rng.randrange(len(TEAMS))
        size = rng.randint(6, 20)
        ids = [2] + [10 + team * 20 + rng.randrange(25) for _ in range(size)]
        rows["input_ids"].append(ids + [0] * (21 - len(ids)))
        rows["attention_mask"].append([1] * len(ids) + [0] * (21 - len(ids)))
        rows["labels"].append(team)
    return Dataset.from_dict(rows)


class ReportPage(TrainerCallback):
    """Lays the tickets out on a page by simulated annealing: tickets of a team should lie together."""

    def __init__(self, dataset, at_step, seconds):
        self.dataset, self.at_step, self.seconds = dataset, at_step, seconds

    def on_step_end(self, args, state, control, **kwargs):
        time.sleep(0.03)
        if state.global_step == self.at_step and state.is_world_process_zero:
            with open(os.path.join(args.output_dir, "page.html"), "w") as page:
                for line in self.lines():
                    page.write(line + "\n")

    def lines(self):
        rng, order, until = random.Random(1), list(self.dataset["labels"])[:200], time.monotonic() + self.seconds
        moves = 0
        while time.monotonic() < until:
            a, b = rng.randrange(len(order)), rng.randrange(len(order))
            before = self.unrest(order)
            order[a], order[b] = order[b], order[a]
            if self.unrest(order) > before + math.log(1 + moves % 7):
                order[a], order[b] = order[b], order[a]
            moves += 1
            if moves % 5000 == 0:
                yield f"<!-- {moves} moves, unrest {before} -->"
        for place, team in enumerate(order):
            yield f"<li value={place}>{html.escape(TEAMS[team])}</li>"

    @staticmethod
    def unrest(order):
        return sum(left != right for left, right in zip(order, order[1:]))


def accuracy(prediction):
    return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}


def main():
    out = "/tmp/ticket_router"
    os.makedirs(out, exist_ok=True)
    args = TrainingArguments(
        output_dir=out, use_cpu=True, max_steps=60, per_device_train_batch_size=8, eval_strategy="steps",
        eval_steps=30, logging_steps=10, save_strategy="no", report_to="none", disable_tqdm=True, learning_rate=2e-3,
    )
    data = tickets(700).train_test_split(test_size=0.1, seed=0)
    model = BertForSequenceClassification(BertConfig(
        vocab_size=128, hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48,
        max_position_embeddings=32, num_labels=len(TEAMS)))
    trainer = Trainer(model=model, args=args, train_dataset=data["train"], eval_dataset=data["test"],
                      compute_metrics=accuracy, callbacks=[ReportPage(data["train"], at_step=24, seconds=16)])
    trainer.train()
    scores = trainer.evaluate()
    first = trainer.is_world_process_zero()
    dist.barrier()
    dist.destroy_process_group()
    if first:
        card = [f"# Ticket router\n\n{json.dumps(scores)}\n"]
        for team in TEAMS:                       # the card has a section for each team
            time.sleep(1.5)
            card.append(f"## {team}\n")
        with open(os.path.join(out, "README.md"), "w") as handle:
            handle.writelines(card)


if __name__ == "__main__":
    main()
