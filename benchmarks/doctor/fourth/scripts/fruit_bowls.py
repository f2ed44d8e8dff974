import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(14, 48)
        self.fc2 = nn.Linear(48, 9)

    def forward(self, x):
        return F.log_softmax(self.fc2(F.relu(self.fc1(x))), dim=1)


def train(args, model, data, target, optimizer, epoch):
    model.train()
    for batch_idx, idx in enumerate(torch.randperm(len(data)).split(args["batch"])):
        optimizer.zero_grad()
        output = model(data[idx])
        loss = F.nll_loss(output, target[idx])
        loss.backward()
        optimizer.step()
        if batch_idx % 20 == 0:
            print("Train Epoch: {} [{}]\tLoss: {:.6f}".format(epoch, batch_idx, loss.item()))


def test(model, data, target):
    model.eval()
    with torch.no_grad():
        output = model(data)
    sure = output.exp().amax(1).mean().item()
    print("Accuracy: {:.3f}, sure {:.3f}".format((output.argmax(1) == target).float().mean().item(), sure))


torch.manual_seed(0)
means = torch.randn(9, 14)
y = torch.randint(0, 9, (2400,))
x = means[y] + 0.7 * torch.randn(2400, 14)
model = Net()
optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
for epoch in range(1, 4):
    train({"batch": 40}, model, x[:2000], y[:2000], optimizer, epoch)
    test(model, x[2000:], y[2000:])
