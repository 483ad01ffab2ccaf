import torch


def camera_loader(camera, epoch, batches, identities=4, shots=3):
    """P x K batches from one camera; quiet hours of a camera have few identities."""
    g = torch.Generator().manual_seed(97 * camera + epoch)
    centres = torch.randn(40, 3, 1, 1, generator=g)
    for b in range(batches):
        if camera == 2 and b == 17:      # 04:00, one guard on his round
            pids = torch.full((identities * shots,), 11)
        else:
            pids = torch.randperm(40, generator=g)[:identities].repeat_interleave(shots)
        images = centres[pids] + 0.5 * torch.randn(len(pids), 3, 24, 12, generator=g)
        yield images, pids
