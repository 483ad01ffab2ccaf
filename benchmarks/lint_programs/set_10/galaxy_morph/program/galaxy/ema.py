import copy

import torch


class ModelEma:
    """Exponential moving average of a model's weights, held by every rank."""

    def __init__(self, model, decay):
        self.module = copy.deepcopy(model).eval()
        self.module.requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for avg, cur in zip(self.module.parameters(), model.parameters()):
            avg.lerp_(cur, 1.0 - self.decay)
        for avg, cur in zip(self.module.buffers(), model.buffers()):
            avg.copy_(cur)

    def state_dict(self):
        return self.module.state_dict()
