import torch


class LossScaler:
    """Dynamic loss scale for gradients that travel in half precision."""

    def __init__(self, init_scale=2.0 ** 16, growth=2.0, backoff=0.5, interval=200):
        self.scale = init_scale
        self.growth, self.backoff, self.interval = growth, backoff, interval
        self.good_steps = 0

    def scale_loss(self, loss):
        return loss * self.scale

    def unscale_(self, grad):
        """Divides by the scale in place; True where the gradient is of no use."""
        overflow = not bool(torch.isfinite(grad).all())
        grad.div_(self.scale)
        return overflow

    def update(self, overflow):
        if overflow:
            self.scale = max(self.scale * self.backoff, 1.0)
            self.good_steps = 0
            return
        self.good_steps += 1
        if self.good_steps % self.interval == 0:
            self.scale *= self.growth
