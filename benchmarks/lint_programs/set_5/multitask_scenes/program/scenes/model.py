import torch.nn as nn
import torch.nn.functional as F

CHANNELS = {"segmentation": 13, "depth": 1, "normals": 3}


def conv(cin, cout, stride=1):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, stride, 1, bias=False), nn.GroupNorm(8, cout), nn.ReLU(inplace=True))


class Head(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.body = conv(cin, cin)
        self.out = nn.Conv2d(cin, cout, 1)

    def forward(self, x, size):
        return F.interpolate(self.out(self.body(x)), size=size, mode="bilinear", align_corners=False)


class SceneNet(nn.Module):
    def __init__(self, tasks, width):
        super().__init__()
        self.encoder = nn.Sequential(conv(3, width, 2), conv(width, 2 * width, 2), conv(2 * width, 4 * width),
                                     conv(4 * width, 4 * width))
        self.heads = nn.ModuleDict({t: Head(4 * width, CHANNELS[t]) for t in tasks})

    def forward(self, image):
        feats = self.encoder(image)
        return {t: head(feats, image.shape[-2:]) for t, head in self.heads.items()}
