import copy

import torch


class EMATeacher:
    """Exponential moving average of the student, with a ramp of the decay over the first steps."""

    def __init__(self, student, accelerator, decay=0.99):
        self.accelerator = accelerator
        self.decay = decay
        self.updates = 0
        self.net = copy.deepcopy(accelerator.unwrap_model(student)).eval()
        self.net.requires_grad_(False)

    @torch.no_grad()
    def update(self, student):
        if not self.accelerator.is_main_process:
            return
        self.updates += 1
        decay = min(self.decay, (1 + self.updates) / (10 + self.updates))
        source = self.accelerator.unwrap_model(student)
        for mean, value in zip(self.net.parameters(), source.parameters()):
            mean.lerp_(value, 1 - decay)

    @torch.no_grad()
    def predict(self, images):
        return self.net(images)

    def state_dict(self):
        return {"net": self.net.state_dict(), "updates": self.updates}
