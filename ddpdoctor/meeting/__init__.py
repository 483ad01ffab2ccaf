"""Several watchers of one job come to one verdict."""
