"""Optimisers: how gradients become steps. A member is one function that builds a torch optimiser for a model."""
