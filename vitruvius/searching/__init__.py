"""Search: the best network for given images within a budget, by short trainings that are continued."""
