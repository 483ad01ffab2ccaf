"""Environment variables by which launchers tell a process its place in the job."""

from __future__ import annotations

#: variables of torchrun, Slurm, Open MPI, and of others that start one process a rank
RANK_VARIABLES = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "MV2_COMM_WORLD_RANK")
LOCAL_RANK_VARIABLES = (
    "LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK",
)  # fmt: skip
WORLD_VARIABLES = (
    "WORLD_SIZE", "LOCAL_WORLD_SIZE", "SLURM_NTASKS", "SLURM_NPROCS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
    "MV2_COMM_WORLD_SIZE",
)  # fmt: skip
