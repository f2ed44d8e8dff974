"""The doctor: hooks into torch, the watcher that records a trace, the diagnosis, and the report."""
