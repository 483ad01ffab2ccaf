import torch


def cosine_alphas_bar(steps, device, s=0.008):
    u = torch.linspace(0, 1, steps + 1, device=device)
    bar = torch.cos((u + s) / (1 + s) * torch.pi / 2) ** 2
    return (bar / bar[0]).clamp(1e-5, 1.0)


@torch.no_grad()
def sample(net, labels, steps, guidance, null_label=10):
    """DDPM ancestral sampling with classifier-free guidance, images in [-1, 1]."""
    device = labels.device
    bar = cosine_alphas_bar(steps, device)
    x = torch.randn(len(labels), 3, 32, 32, device=device)
    nothing = torch.full_like(labels, null_label)
    for i in range(steps, 0, -1):
        t = torch.full((len(labels),), 1000.0 * i / steps, device=device)
        cond, free = net(x, t, labels), net(x, t, nothing)
        eps = free + guidance * (cond - free)
        x0 = ((x - (1 - bar[i]).sqrt() * eps) / bar[i].sqrt()).clamp(-1, 1)
        alpha = bar[i] / bar[i - 1]
        mean = (bar[i - 1].sqrt() * (1 - alpha) * x0 + alpha.sqrt() * (1 - bar[i - 1]) * x) / (1 - bar[i])
        if i > 1:
            var = (1 - alpha) * (1 - bar[i - 1]) / (1 - bar[i])
            x = mean + var.sqrt() * torch.randn_like(x)
        else:
            x = mean
    return x
