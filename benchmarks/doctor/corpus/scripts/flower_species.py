import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(4)
species = torch.randint(0, 3, (300,))
means = torch.tensor([[-1.0, 0.5, -1.2, -1.0], [0.1, -0.6, 0.3, 0.2], [1.0, 0.2, 1.0, 1.1]])
measurements = means[species] + 0.4 * torch.randn(300, 4)

trainset, testset = random_split(TensorDataset(measurements, species), [240, 60])
trainloader = DataLoader(trainset, batch_size=20, shuffle=True)
testloader = DataLoader(testset, batch_size=60)

net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

for epoch in range(8):
    running_loss = 0.0
    for data in trainloader:
        inputs, labels = data
        optimizer.zero_grad()
        outputs = net(inputs)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step
        running_loss += loss.item()
    print(f"[{epoch + 1}] loss: {running_loss / len(trainloader):.3f}")

correct = 0
with torch.no_grad():
    for inputs, labels in testloader:
        correct += (net(inputs).argmax(1) == labels).sum().item()
print(f"Accuracy on the {len(testset)} test flowers: {100 * correct / len(testset):.0f} %")
