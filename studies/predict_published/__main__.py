"""`python -m studies.predict_published`: predict the published column *with*."""

from studies.commands import run_study

if __name__ == "__main__":
    run_study("predict-published")
