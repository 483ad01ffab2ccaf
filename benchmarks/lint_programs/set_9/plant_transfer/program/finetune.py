class BackboneFinetuning:
    """Keeps the backbone frozen for some epochs, then trains it with a smaller learning rate."""

    def __init__(self, unfreeze_epoch, backbone_lr_mult=0.1):
        self.unfreeze_epoch = unfreeze_epoch
        self.backbone_lr_mult = backbone_lr_mult

    def setup(self, model):
        for p in model.backbone.parameters():
            p.requires_grad_(False)
        return [p for p in model.parameters() if p.requires_grad]

    def on_epoch_start(self, epoch, model, optimizer):
        """Returns True in the epoch in which the backbone becomes trainable."""
        if epoch != self.unfreeze_epoch:
            return False
        params = list(model.backbone.parameters())
        for p in params:
            p.requires_grad_(True)
        lr = optimizer.param_groups[0]["lr"] * self.backbone_lr_mult
        optimizer.add_param_group({"params": params, "lr": lr, "initial_lr": lr})
        return True
