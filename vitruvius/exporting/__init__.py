"""A trained run as something that runs elsewhere: onnx, transformers, timm, safetensors, a torch program."""
