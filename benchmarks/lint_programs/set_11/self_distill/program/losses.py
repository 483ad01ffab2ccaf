import torch
import torch.distributed as dist
from torch import nn


class CentredDistillation(nn.Module):
    """Cross entropy between the sharpened, centred teacher and the student over two views."""

    def __init__(self, prototypes, student_temp, teacher_temp, center_momentum):
        super().__init__()
        self.student_temp, self.teacher_temp = student_temp, teacher_temp
        self.center_momentum = center_momentum
        self.register_buffer("center", torch.zeros(1, prototypes))

    def forward(self, student, teacher):
        log_p = [(s / self.student_temp).log_softmax(dim=-1) for s in student]
        q = [((t - self.center) / self.teacher_temp).softmax(dim=-1) for t in teacher]
        loss = -(q[0] * log_p[1]).sum(-1).mean() - (q[1] * log_p[0]).sum(-1).mean()
        self.update_center(torch.cat(teacher))
        return loss / 2

    @torch.no_grad()
    def update_center(self, teacher):
        mean = teacher.mean(dim=0, keepdim=True)
        self.center.lerp_(mean, 1 - self.center_momentum)


class Average:
    def __init__(self, device):
        self.entries = torch.zeros(2, device=device)

    def add(self, value, count):
        self.entries += torch.tensor([value * count, count], device=self.entries.device)

    def reduce(self):
        dist.all_reduce(self.entries)
        return (self.entries[0] / self.entries[1]).item()
