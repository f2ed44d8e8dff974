"""Small training programs as text, for the `SICK` and `HEALTHY` of checks."""

HEAD = "import torch\nfrom torch import nn\nfrom torch.nn import functional as F"
BATCH = "net(torch.randn(8, 3)).square().mean().backward()"
SGD = "SGD(net.parameters(), lr=0.01)"


def training(
    *batch: str, net: str = "nn.Linear(3, 1)", init: str = "", optimiser: str = SGD, steps: int = 6
) -> str:
    """A program that trains `net` for some steps; `batch` are the lines between zero_grad() and step()."""
    lines = [
        HEAD,
        f"net = {net}",
        init,
        f"optimizer = torch.optim.{optimiser}",
        f"for step in range({steps}):",
    ]
    body = ["optimizer.zero_grad()", *(batch or [BATCH]), "optimizer.step()"]
    return "\n".join([*filter(None, lines), *(f"    {line}" for line in body)]) + "\n"
