"""The machinery behind the verbs: the training loop, checkpoints, ranking, statistics, probing, the clinic."""
