"""Networks that an `Arch` describes, as PyTorch modules."""
