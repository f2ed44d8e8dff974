"""Report: figures as pictures, blocks as self-contained pages. Needs data only, never a model.

- `png.draw(figure, path)` writes a figure as a PNG file;
- `svg.drawing(figure)` is a figure as inline SVG that follows the page's text colour;
- `html.page(title, blocks)` is one page, `html.book(title, parts)` one page of many with a table of contents.
"""
