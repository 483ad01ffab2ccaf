import torch
import torch.nn as nn


class MaskedAutoencoderViT(nn.Module):
    def __init__(self, img_size=128, patch_size=16, dim=384, depth=12, heads=6,
                 dec_dim=192, dec_depth=2, dec_heads=3, norm_pix_loss=True):
        super().__init__()
        self.p = patch_size
        self.n = (img_size // patch_size) ** 2
        self.norm_pix_loss = norm_pix_loss
        self.patch_embed = nn.Conv2d(3, dim, patch_size, patch_size)
        self.pos_embed = nn.Parameter(torch.zeros(1, self.n, dim))
        self.blocks = self._stack(dim, depth, heads)
        self.norm = nn.LayerNorm(dim)
        self.decoder_embed = nn.Linear(dim, dec_dim)
        self.mask_token = nn.Parameter(torch.zeros(1, 1, dec_dim))
        self.decoder_pos_embed = nn.Parameter(torch.zeros(1, self.n, dec_dim))
        self.decoder_blocks = self._stack(dec_dim, dec_depth, dec_heads)
        self.decoder_pred = nn.Linear(dec_dim, patch_size ** 2 * 3)
        for p in (self.pos_embed, self.mask_token, self.decoder_pos_embed):
            nn.init.normal_(p, std=0.02)

    @staticmethod
    def _stack(dim, depth, heads):
        layer = nn.TransformerEncoderLayer(dim, heads, dim * 4, 0.0, "gelu",
                                           batch_first=True, norm_first=True)
        return nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)

    def patchify(self, x):
        b, c, h, w = x.shape
        x = x.reshape(b, c, h // self.p, self.p, w // self.p, self.p)
        return x.permute(0, 2, 4, 3, 5, 1).reshape(b, self.n, -1)

    def random_masking(self, x, mask_ratio):
        b, n, d = x.shape
        keep = int(n * (1 - mask_ratio))
        order = torch.rand(b, n, device=x.device).argsort(dim=1)
        restore = order.argsort(dim=1)
        kept = order[:, :keep, None].expand(-1, -1, d)
        mask = torch.ones(b, n, device=x.device)
        mask[:, :keep] = 0
        return x.gather(1, kept), mask.gather(1, restore), restore

    def forward(self, imgs, mask_ratio=0.75):
        x = self.patch_embed(imgs).flatten(2).transpose(1, 2) + self.pos_embed
        x, mask, restore = self.random_masking(x, mask_ratio)
        x = self.decoder_embed(self.norm(self.blocks(x)))
        b, k, d = x.shape
        x = torch.cat([x, self.mask_token.expand(b, self.n - k, -1)], 1)
        x = x.gather(1, restore[..., None].expand(-1, -1, d)) + self.decoder_pos_embed
        pred = self.decoder_pred(self.decoder_blocks(x))

        target = self.patchify(imgs)
        if self.norm_pix_loss:
            target = (target - target.mean(-1, keepdim=True)) / (target.var(-1, keepdim=True) + 1e-6).sqrt()
        loss = (pred - target).pow(2).mean(-1)
        return (loss * mask).sum() / mask.sum()
