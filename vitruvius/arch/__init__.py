"""A network as data: its description (arch), its closed-form cost (cost), tables of networks (tables). No torch."""
