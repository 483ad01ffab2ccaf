import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, width=16, out=64):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, width, 3, stride=2, padding=1), nn.GroupNorm(4, width), nn.GELU(),
            nn.Conv2d(width, 2 * width, 3, stride=2, padding=1), nn.GroupNorm(4, 2 * width), nn.GELU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )
        self.head = nn.Sequential(nn.Linear(2 * width, 64), nn.GELU(), nn.Linear(64, out))

    def forward(self, x):
        return self.head(self.body(x))


class DINOLoss(nn.Module):
    def __init__(self, out=64, student_temp=0.1, teacher_temp=0.04, momentum=0.9):
        super().__init__()
        self.student_temp, self.teacher_temp, self.momentum = student_temp, teacher_temp, momentum
        self.register_buffer("center", torch.zeros(1, out))

    def forward(self, student, teacher):
        s = [F.log_softmax(x / self.student_temp, dim=-1) for x in student]
        t = [F.softmax((x - self.center) / self.teacher_temp, dim=-1) for x in teacher]
        loss = -0.5 * ((t[0] * s[1]).sum(-1).mean() + (t[1] * s[0]).sum(-1).mean())
        self.update_center(torch.cat(teacher))
        return loss

    @torch.no_grad()
    def update_center(self, teacher):
        mean = teacher.mean(dim=0, keepdim=True)
        dist.all_reduce(mean)
        mean /= dist.get_world_size()
        self.center.mul_(self.momentum).add_(mean, alpha=1 - self.momentum)


@torch.no_grad()
def ema_update(teacher, student, momentum):
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.mul_(momentum).add_(s, alpha=1 - momentum)
