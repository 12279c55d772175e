"""Image models of torch libraries: timm, torchvision, TorchScript, open_clip."""
