import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
labels = torch.tensor(digits.target)

loader = DataLoader(TensorDataset(images[:1440], labels[:1440]), batch_size=24, shuffle=True)
x_val, y_val = images[1440:], labels[1440:]

model = nn.Sequential(
    nn.Conv2d(1, 12, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(12, 24, 3, padding=1),
    nn.ReLU(),
    nn.Flatten(),
    nn.Linear(24 * 16, 10),
)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()
accumulation_steps = 2

for epoch in range(4):
    model.train()
    running = 0.0
    for step, (x, y) in enumerate(loader):
        loss = criterion(model(x), y) / accumulation_steps
        loss.backward()
        running += loss.item() * accumulation_steps
        if (step + 1) % accumulation_steps == 0:
            optimizer.zero_grad()
            optimizer.step()

    model.eval()
    with torch.no_grad():
        accuracy = (model(x_val).argmax(1) == y_val).float().mean().item()
    print(f"epoch {epoch}  loss {running / len(loader):.3f}  val acc {accuracy:.3f}")
