"""Job scripts for SLURM, without SLURM."""

from nao_testbed.experiments.sweep.engines.dask_cluster import SlurmCfg, slurm_cluster
from tests.messages import Messages, each


def test_a_job_is_one_worker_with_one_thread() -> None:
    cfg = SlurmCfg(
        partition="batch",
        account="robots",
        wall_time="02:30:00",
        interface="lo",
        before=("module load python/3.11",),
        directives=("--exclude=node17",),
        python="python3.11-there",
    )
    with slurm_cluster(cfg) as cluster:
        lines = cluster.job_script().splitlines()
        address = cluster.scheduler_address
    for directive in (
        "-p batch",
        "-A robots",
        "-t 02:30:00",
        "-n 1",
        "--cpus-per-task=1",
        "--exclude=node17",
    ):
        assert f"#SBATCH {directive}" in lines
    threads = lines.index("export OMP_NUM_THREADS=1")
    module = lines.index("module load python/3.11")
    (worker,) = [line for line in lines if line.startswith("python3.11-there")]
    assert threads < module < lines.index(worker)  # before it imports anything
    assert f"dask_worker {address} " in worker
    assert " --nthreads 1 " in worker


def test_messages(messages: Messages) -> None:
    messages(
        what_slurm_would_refuse=each(SlurmCfg, wall_time=["two hours"], memory=["much"])
    )
