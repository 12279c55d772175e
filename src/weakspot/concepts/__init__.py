"""Axes, spaces, cells, regions and modes; and what failures have in common, in words."""
