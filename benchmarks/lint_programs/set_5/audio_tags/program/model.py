from torch import nn


class TagNet(nn.Module):
    def __init__(self, classes, width=64):
        super().__init__()

        def block(cin, cout):
            return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.GroupNorm(8, cout), nn.ReLU(),
                                 nn.MaxPool2d(2))

        self.body = nn.Sequential(block(1, width), block(width, 2 * width), block(2 * width, 2 * width))
        self.head = nn.Sequential(nn.Dropout(0.2), nn.Linear(2 * width, classes))

    def forward(self, x):
        return self.head(self.body(x[:, None]).mean((2, 3)))
