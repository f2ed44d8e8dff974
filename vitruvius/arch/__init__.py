"""A network as data: its description (arch), closed-form cost, choice, and tables of networks. No torch."""
