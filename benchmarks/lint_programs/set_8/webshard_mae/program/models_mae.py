import torch
import torch.nn as nn


class TinyMAE(nn.Module):
    def __init__(self, img_size=32, patch=8, dim=64, depth=2, dec_dim=32, heads=4):
        super().__init__()
        self.patch = patch
        self.n = (img_size // patch) ** 2
        pdim = 3 * patch * patch
        self.embed = nn.Linear(pdim, dim)
        self.pos = nn.Parameter(torch.randn(1, self.n, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(dim, heads, dim * 2, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.to_dec = nn.Linear(dim, dec_dim)
        self.mask_token = nn.Parameter(torch.zeros(1, 1, dec_dim))
        self.dec_pos = nn.Parameter(torch.randn(1, self.n, dec_dim) * 0.02)
        self.decoder = nn.TransformerEncoderLayer(dec_dim, heads, dec_dim * 2, dropout=0.0, batch_first=True)
        self.head = nn.Linear(dec_dim, pdim)

    def patchify(self, x):
        b, c, h, w = x.shape
        p = self.patch
        x = x.reshape(b, c, h // p, p, w // p, p)
        return x.permute(0, 2, 4, 3, 5, 1).reshape(b, self.n, p * p * c)

    def forward(self, imgs, mask_ratio=0.75):
        target = self.patchify(imgs)
        x = self.embed(target) + self.pos
        b, n, d = x.shape
        keep = int(n * (1 - mask_ratio))
        order = torch.rand(b, n, device=x.device).argsort(dim=1)
        restore = order.argsort(dim=1)
        kept = x.gather(1, order[:, :keep, None].expand(-1, -1, d))
        z = self.to_dec(self.encoder(kept))
        z = torch.cat([z, self.mask_token.expand(b, n - keep, -1)], dim=1)
        z = z.gather(1, restore[:, :, None].expand(-1, -1, z.size(-1))) + self.dec_pos
        pred = self.head(self.decoder(z))
        mask = (restore >= keep).float()
        loss = ((pred - target) ** 2).mean(-1)
        return (loss * mask).sum() / mask.sum()
