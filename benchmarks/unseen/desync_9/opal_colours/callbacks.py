"""What is done beside the training; Fabric calls the hooks."""

import torch
import torch.distributed as dist
from torch.nn.utils import parameters_to_vector


class Progress:
    """Prints the mean of the loss."""

    def __init__(self, every):
        self.every, self.losses = every, []

    def on_step_end(self, fabric, model, step, loss):
        self.losses.append(loss)
        if step % self.every == 0:
            print(f"step {step}: {sum(self.losses) / len(self.losses):.4f}", flush=True)
            self.losses.clear()


class Drift:
    """Follows how far the weights are from those after the warm-up, as a mean of all processes."""

    def __init__(self, warmup):
        self.warmup, self.reference, self.distance = warmup, None, 0.0

    def on_step_end(self, fabric, model, step, loss):
        weights = parameters_to_vector(model.parameters()).detach()
        if step == self.warmup:
            dist.all_reduce(weights)
            self.reference = weights / fabric.world_size
        elif self.reference is not None:
            self.distance = float(torch.dist(weights, self.reference))

    def on_fit_end(self, fabric):
        print(f"weights moved by {self.distance:.3f} since the warm-up", flush=True)


def callbacks_for(fabric, warmup, every):
    """Only one process has something to print."""
    return [Progress(every), Drift(warmup)] if fabric.is_global_zero else []
