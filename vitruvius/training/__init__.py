"""Training: the loop, its data and device, checkpoints, evaluation, a trained model that predicts, and the report."""
