"""Turn words into cases: text-to-image, a folder of images searched by text. The drawn world has its own."""
