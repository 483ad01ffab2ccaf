class RegionReport:
    """Mean error by region, logged under ``val_mae/<region>``."""

    def __init__(self, regions):
        self.regions = tuple(regions)

    def add(self, module, error, region):
        for index, name in enumerate(self.regions):
            rows = error[region == index]
            if len(rows):
                module.log(f"val_mae/{name}", rows.mean(), batch_size=len(rows), on_epoch=True, sync_dist=True)
