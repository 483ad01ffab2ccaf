import torch
from torchvision.utils import save_image


def save_samples(net, noise, path, nrow=8):
    """Write a grid of samples drawn with running statistics."""
    was_training = net.training
    net.eval()
    with torch.no_grad():
        imgs = net(noise)
    net.train(was_training)
    save_image(imgs.cpu(), path, nrow=nrow, normalize=True, value_range=(-1, 1))


def save_networks(path, step, **nets):
    torch.save({"step": step, **{k: n.state_dict() for k, n in nets.items()}}, path)
