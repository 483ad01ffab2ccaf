model = dict(type="CenterBox", width=24)
data = dict(type="Shapes", num=8000, size=32)
batch_size = 16
optim = dict(lr=2e-3, weight_decay=1e-4)
max_epochs = 24
seed = 6
hooks = [dict(type="LrHook", warmup=50), dict(type="LogHook", every=20), dict(type="SaveHook", path="det.pt")]
