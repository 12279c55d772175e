"""The embedded default: a small drawn world with exact ground truth, and its own trained models.

`scene` says what can be in a picture, `grammar` speaks of it in English and understands it, `nature` knows
how common things are, `render` paints. `renderer` and `classifier` are the world as a source and a target.
"""
