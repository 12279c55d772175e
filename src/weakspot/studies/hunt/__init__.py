"""hunt: bugs of an image classifier, in words."""
