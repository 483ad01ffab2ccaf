import torch.nn as nn


def weights_init(m):
    name = m.__class__.__name__
    if "Conv" in name:
        nn.init.normal_(m.weight, 0.0, 0.02)
    elif "BatchNorm" in name:
        nn.init.normal_(m.weight, 1.0, 0.02)
        nn.init.zeros_(m.bias)


class Generator(nn.Module):
    def __init__(self, nz=100, ngf=64):
        super().__init__()
        layers = [nn.ConvTranspose2d(nz, ngf * 8, 4, 1, 0, bias=False), nn.BatchNorm2d(ngf * 8), nn.ReLU(True)]
        for a, b in ((8, 4), (4, 2), (2, 1)):
            layers += [nn.ConvTranspose2d(ngf * a, ngf * b, 4, 2, 1, bias=False),
                       nn.BatchNorm2d(ngf * b), nn.ReLU(True)]
        layers += [nn.ConvTranspose2d(ngf, 3, 4, 2, 1, bias=False), nn.Tanh()]
        self.main = nn.Sequential(*layers)

    def forward(self, z):
        return self.main(z)


class Discriminator(nn.Module):
    def __init__(self, ndf=64):
        super().__init__()
        layers = [nn.Conv2d(3, ndf, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, True)]
        for a, b in ((1, 2), (2, 4), (4, 8)):
            layers += [nn.Conv2d(ndf * a, ndf * b, 4, 2, 1, bias=False),
                       nn.BatchNorm2d(ndf * b), nn.LeakyReLU(0.2, True)]
        layers += [nn.Conv2d(ndf * 8, 1, 4, 1, 0, bias=False)]
        self.main = nn.Sequential(*layers)

    def forward(self, x):
        return self.main(x).view(-1)
