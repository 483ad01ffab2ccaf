seed = 3407
max_epochs = 30
data = dict(root="features", batch_size=256, num_workers=4)
model = dict(type="MLPHead", in_dim=768, hidden=1024, num_classes=555, dropout=0.2)
optimizer = dict(lr=2e-3, weight_decay=0.02)
metrics = [
    dict(type="TopK", k=1),
    dict(type="TopK", k=5),
    dict(type="MeanLoss"),
]
hooks = [
    dict(type="SamplerSeedHook"),
    dict(type="CosineLrHook", warmup_epochs=2),
    dict(type="TextLoggerHook", interval=50, json_name="scalars.jsonl"),
    dict(type="CheckpointHook", interval=5),
]
