import torch
from accelerate import Accelerator
from accelerate.utils import set_seed

from net import UNet


def start(seed, tf32=True):
    accelerator = Accelerator()
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32
    set_seed(seed)
    return accelerator


def load_ema(path, device, width):
    net = UNet(width)
    net.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    return net.to(device).eval().requires_grad_(False)
