"""Ranking: candidate networks, their scores without training, the statistics and the verdict, and the report."""
