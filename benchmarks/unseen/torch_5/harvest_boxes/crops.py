import torch


class Annotation:
    def __init__(self, image, box, ripe):
        self.image, self.box, self.ripe = image, box, ripe


def crop(annotation, size=6):
    x1, y1, x2, y2 = annotation.box
    region = annotation.image[y1:y2, x1:x2]
    if region.numel() == 0:
        raise ValueError(f"empty box {annotation.box}")
    pooled = torch.nn.functional.adaptive_avg_pool2d(region[None, None], size)
    return pooled.flatten()


def annotations(rank, steps, batch):
    gen = torch.Generator().manual_seed(40 + rank)
    for step in range(steps):
        group = []
        for _ in range(batch):
            x, y, w, h = torch.randint(1, 10, (4,), generator=gen).tolist()
            ripe = int(torch.randint(0, 2, (1,), generator=gen))
            image = torch.rand(24, 24, generator=gen) + 0.3 * ripe
            group.append(Annotation(image, (x, y, x + w, y + h), ripe))
        if rank == 0 and step == 17:
            x, y, x2, y2 = group[-1].box
            group[-1].box = (x2, y, x, y2)
        yield group


def collate(group):
    return torch.stack([crop(a) for a in group]), torch.tensor([a.ripe for a in group])
