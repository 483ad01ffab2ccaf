import torch.nn.functional as F


def segmentation(pred, target):
    return F.cross_entropy(pred, target, ignore_index=255)


def depth(pred, target):
    valid = target > 0
    return ((pred.squeeze(1) - target).abs() * valid).sum() / valid.sum().clamp(min=1)


def normals(pred, target):
    return (1 - F.cosine_similarity(pred, target, dim=1)).mean()


LOSSES = {"segmentation": segmentation, "depth": depth, "normals": normals}


class WeightedSum:
    def __init__(self, weights):
        self.weights = {t: w for t, w in weights.items() if w > 0}

    def __call__(self, outputs, batch):
        parts = {t: LOSSES[t](outputs[t], batch[t]) for t in self.weights}
        return sum(self.weights[t] * p for t, p in parts.items()), parts
