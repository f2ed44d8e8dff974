"""Training in two sittings: the run is saved, thrown away, loaded and continued."""
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def build():
    net = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Dropout(0.1), nn.Linear(48, 4))
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    sched = torch.optim.lr_scheduler.StepLR(opt, step_size=4, gamma=0.5)
    return net, opt, sched


def minerals(n, centres):
    y = torch.randint(0, 4, (n,))
    return centres[y] + torch.randn(n, 10), y


def epochs(net, opt, sched, loader, test, span):
    for epoch in span:
        net.train()
        for x, y in loader:
            opt.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            opt.step()
        sched.step()
        net.eval()
        with torch.no_grad():
            acc = (net(test[0]).argmax(1) == test[1]).float().mean()
        print(f"epoch {epoch}: loss {loss.item():.3f} accuracy {acc:.3f} rate {opt.param_groups[0]['lr']}")


def main():
    torch.manual_seed(11)
    centres = torch.randn(4, 10)
    loader = DataLoader(TensorDataset(*minerals(800, centres)), batch_size=40, shuffle=True)
    test = minerals(300, centres)
    path = os.path.join(tempfile.mkdtemp(), "run.pt")
    net, opt, sched = build()
    epochs(net, opt, sched, loader, test, range(0, 3))
    torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "sched": sched.state_dict()}, path)
    del net, opt, sched

    state = torch.load(path)
    net, opt, sched = build()
    net.load_state_dict(state["net"])
    opt.load_state_dict(state["opt"])
    sched.load_state_dict(state["sched"])
    epochs(net, opt, sched, loader, test, range(3, 8))
    os.remove(path)


if __name__ == "__main__":
    main()
