"""Text-to-image pipelines in the diffusers format."""
