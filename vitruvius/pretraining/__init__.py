"""Pretraining without labels: grids of autoencoders, features, probes, PCA certificates, and the report."""
