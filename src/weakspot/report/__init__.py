"""Documents in every form: one HTML file that opens from disk, Markdown, JSON, lines on a terminal."""
