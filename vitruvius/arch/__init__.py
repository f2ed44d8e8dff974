"""A network as data: its description (arch), closed-form cost (cost), choice and tables of networks. No torch."""
