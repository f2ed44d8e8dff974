"""Networks in a browser: the viewer, its file of weights and the page that can be mailed."""
