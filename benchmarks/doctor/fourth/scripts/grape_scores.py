import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(1600, 11)
y = (x @ torch.randn(11, 1)) * 0.3 + 0.1 * torch.randn(1600, 1)
train_dl = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)


class WineModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear1 = nn.Linear(11, 32)
        self.linear2 = nn.Linear(32, 1)

    def forward(self, xb):
        return self.linear2(torch.relu(self.linear1(xb)))


def fit(num_epochs, model, loss_fn, opt):
    for epoch in range(num_epochs):
        for xb, yb in train_dl:
            pred = model(xb)
            loss = loss_fn(pred, yb)
            loss.backward()
            opt.step()
            opt.zero_grad
        print("Epoch [{}/{}], Loss: {:.4f}".format(epoch + 1, num_epochs, loss.item()))


model = WineModel()
fit(6, model, nn.functional.mse_loss, torch.optim.SGD(model.parameters(), lr=0.01))
