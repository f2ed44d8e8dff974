"""The local web application behind `serve`: pages over lessons, run folders and networks; it only reads."""
