"""Training: the loop, its batches and device, checkpoints, evaluation, prediction, results and the report."""
