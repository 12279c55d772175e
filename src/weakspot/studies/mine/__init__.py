"""mine: blind spots of an encoder of texts."""
