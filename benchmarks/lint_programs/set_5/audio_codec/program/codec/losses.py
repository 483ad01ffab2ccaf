import torch
import torch.nn.functional as F


def spectral_loss(x, y, sizes=(512, 256, 128)):
    loss = 0.0
    for n in sizes:
        window = torch.hann_window(n, device=x.device)
        a = torch.stft(x.squeeze(1), n, n // 4, window=window, return_complex=True).abs()
        b = torch.stft(y.squeeze(1), n, n // 4, window=window, return_complex=True).abs()
        loss = loss + F.l1_loss((a + 1e-5).log(), (b + 1e-5).log()) + F.l1_loss(a, b)
    return loss / len(sizes)
