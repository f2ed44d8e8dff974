"""Ranking: candidate networks, their scores without training, statistics, verdict and report."""
