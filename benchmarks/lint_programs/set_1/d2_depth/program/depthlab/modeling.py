import torch
import torch.nn as nn
import torch.nn.functional as F


def stage(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, 2, 1), nn.GroupNorm(8, o), nn.ReLU(),
                         nn.Conv2d(o, o, 3, 1, 1), nn.GroupNorm(8, o), nn.ReLU())


class DepthNet(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        w = cfg.MODEL.WIDTH
        self.stages = nn.ModuleList([stage(3, w), stage(w, 2 * w), stage(2 * w, 4 * w)])
        self.lateral = nn.ModuleList([nn.Conv2d(c, w, 1) for c in (w, 2 * w, 4 * w)])
        self.predictor = nn.Conv2d(w, 1, 3, padding=1)

    def predict(self, image):
        x, feats = image, []
        for s in self.stages:
            x = s(x)
            feats.append(x)
        y = self.lateral[2](feats[2])
        for lat, f in zip((self.lateral[1], self.lateral[0]), (feats[1], feats[0])):
            y = lat(f) + F.interpolate(y, size=f.shape[-2:], mode="nearest")
        y = F.interpolate(self.predictor(F.relu(y)), size=image.shape[-2:], mode="bilinear")
        return y.squeeze(1).clamp(-6, 6).exp()

    def forward(self, image, depth):
        pred = self.predict(image)
        valid = (depth > 0).float()
        n = valid.sum((1, 2))
        diff = (pred.log() - depth.clamp(min=1e-3).log()) * valid
        mean = diff.sum((1, 2)) / n
        silog = diff.pow(2).sum((1, 2)) / n - 0.85 * mean.pow(2)
        l1 = ((pred - depth).abs() * valid).sum((1, 2)) / n
        return {"loss_silog": silog.mean(), "loss_l1": 0.1 * l1.mean()}
