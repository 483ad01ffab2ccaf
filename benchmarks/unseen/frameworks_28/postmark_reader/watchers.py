"""Callbacks: a gallery of mistakes, and a stop that all ranks agree on."""
import time

import torch
import torch.distributed as dist
from transformers import TrainerCallback

from album import Postmarks


class Gallery(TrainerCallback):
    """On the first rank: run the plain model over some marks, one by one, as the curator sees them."""

    def __init__(self, every, marks=20):
        self.every = every
        self.marks = Postmarks(marks, seed=3)

    def on_step_end(self, args, state, control, model=None, **kwargs):
        if state.global_step % self.every or not state.is_world_process_zero:
            return
        plain = getattr(model, "module", model)
        plain.eval()
        wrong = []
        with torch.no_grad():
            for number in range(len(self.marks)):
                row = self.marks[number]
                if int(plain(row["pixels"][None])["logits"].argmax()) != row["labels"]:
                    wrong.append(number)
                time.sleep(0.12)           # drawing the page
        plain.train()
        print(f"step {state.global_step}: {len(wrong)} of {len(self.marks)} wrong", flush=True)


class PoliteStop(TrainerCallback):
    """Stops when any rank has seen enough of its budget of steps; the ranks vote at every log."""

    def __init__(self, after):
        self.after = after

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step % 10:
            return
        vote = torch.tensor(int(args.process_index == 1 and state.global_step >= self.after))
        dist.all_reduce(vote, op=dist.ReduceOp.MAX)
        if vote.item():
            control.should_training_stop = True
