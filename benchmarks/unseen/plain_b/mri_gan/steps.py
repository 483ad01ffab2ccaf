"""One optimisation step for either network, each with its own reduction group."""
import torch
import torch.distributed as dist
import torch.nn.functional as F


def mean_gradients(module, group):
    n = dist.get_world_size(group)
    for p in module.parameters():
        dist.all_reduce(p.grad, group=group)
        p.grad.div_(n)


class CriticStep:
    def __init__(self, critic, opt, group):
        self.critic, self.opt, self.group = critic, opt, group
        self.rejected = 0

    def __call__(self, real, fake):
        loss = F.softplus(-self.critic(real)).mean() + F.softplus(self.critic(fake.detach())).mean()
        self.opt.zero_grad()
        if not torch.isfinite(loss):
            self.rejected += 1
            return float("nan")
        loss.backward()
        mean_gradients(self.critic, self.group)
        self.opt.step()
        return loss.item()


class GeneratorStep:
    def __init__(self, generator, critic, opt, group):
        self.generator, self.critic, self.opt, self.group = generator, critic, opt, group

    def __call__(self, fake):
        loss = F.softplus(-self.critic(fake)).mean()
        self.opt.zero_grad()
        loss.backward()
        mean_gradients(self.generator, self.group)
        self.opt.step()
        return loss.item()
