"""Two numbers per step: the mean loss of the job, and the norm of the sharded gradient."""
import torch
import torch.distributed as dist

SLOW = 3.0                  # seconds for one tile


class Gauges:
    def __init__(self, mesh):
        self.shards = mesh["tp"].get_group()
        self.rows = []

    def mean_loss(self, loss):
        loss = loss.clone()
        dist.all_reduce(loss)
        return loss.item() / dist.get_world_size()

    def gradient_norm(self, model):
        square = torch.zeros(())
        for parameter in model.parameters():
            gradient = parameter.grad
            square += (gradient.to_local() if hasattr(gradient, "to_local") else gradient).pow(2).sum()
        dist.all_reduce(square, group=self.shards)
        return square.sqrt().item()

    def read(self, step, loss, model, tile_seconds):
        if tile_seconds > SLOW:
            # after a slow tile the gradient is the more interesting one, print it at once
            norm = self.gradient_norm(model)
            print(f"step {step}: tile took {tile_seconds:.1f} s, gradient {norm:.4f}", flush=True)
            mean = self.mean_loss(loss)
        else:
            mean = self.mean_loss(loss)
            norm = self.gradient_norm(model)
        self.rows.append((step, mean, norm))
