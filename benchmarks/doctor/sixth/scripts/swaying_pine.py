import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, SWALR, update_bn
from torch.utils.data import DataLoader, TensorDataset


def pines(n):
    x = torch.randn(n, 6)
    return TensorDataset(x, (x[:, 0] + x[:, 1] ** 2 > 0.8).long())


def accuracy(model, data):
    model.eval()
    with torch.no_grad():
        x, y = data.tensors
        return (model(x).argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(0)
    loader, held = DataLoader(pines(640), 32, shuffle=True), pines(200)
    model = nn.Sequential(nn.Linear(6, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 2))
    average = AveragedModel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    swa = SWALR(optimizer, swa_lr=0.03, anneal_epochs=2)
    for epoch in range(12):
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        if epoch >= 6:
            average.update_parameters(model)
            swa.step()
        print(epoch, loss.item())
    update_bn(loader, average)
    print("last", accuracy(model, held), "averaged", accuracy(average, held))


main()
