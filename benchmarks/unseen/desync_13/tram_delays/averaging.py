"""Gradients averaged over the depots, for trainers that know of one device only."""

import lightning as L
import torch
import torch.distributed as dist
from torch.nn.utils import parameters_to_vector


class AverageGradients(L.Callback):
    """One all-reduce for each backward, over all parameters in one piece.

    The trainer runs on a single device; it neither wraps the module nor talks to the other processes.
    """

    def __init__(self):
        self.world = 1
        self.rounds = 0

    def on_fit_start(self, trainer, module):
        self.world = dist.get_world_size()
        start = parameters_to_vector(module.parameters()).detach()
        dist.broadcast(start, src=0)
        torch.nn.utils.vector_to_parameters(start, module.parameters())

    def on_after_backward(self, trainer, module):
        parameters = [p for p in module.parameters() if p.requires_grad]
        flat = torch.cat([p.grad.reshape(-1) for p in parameters])
        dist.all_reduce(flat)
        flat /= self.world
        offset = 0
        for p in parameters:
            p.grad.copy_(flat[offset : offset + p.numel()].view_as(p))
            offset += p.numel()
        self.rounds += 1


class Losses(L.Callback):
    """The mean loss of the last batches of this depot."""

    def __init__(self, every):
        self.every, self.window = every, []

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        if outputs:
            self.window.append(float(outputs["loss"]))
        if (batch_idx + 1) % self.every == 0:
            if dist.get_rank() == 0:
                print(f"batch {batch_idx + 1}: {sum(self.window) / len(self.window):.3f}", flush=True)
            self.window.clear()
