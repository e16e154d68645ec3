"""`python -m studies`: list the studies, or run one, as `nao-testbed study` does."""

from nao_testbed.experiments.cli import run
from studies.commands import app

if __name__ == "__main__":
    run(app)
