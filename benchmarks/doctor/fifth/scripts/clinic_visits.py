import torch
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler
from torch import nn


def load():
    data = load_breast_cancer()
    order = data.data[:, 0].argsort(kind="stable")
    x, y = data.data[order], data.target[order]
    late = torch.arange(len(x)) % 5 == 0
    late[: len(x) // 2] = False
    return x[~late.numpy()], y[~late.numpy()], x[late.numpy()], y[late.numpy()]


def prepare(x_train, x_test):
    scaler = StandardScaler()
    x_train = scaler.fit_transform(x_train)
    x_test = scaler.fit_transform(x_test)
    return torch.tensor(x_train, dtype=torch.float32), torch.tensor(x_test, dtype=torch.float32)


def main():
    torch.manual_seed(2)
    x_train, y_train, x_test, y_test = load()
    x_train, x_test = prepare(x_train, x_test)
    y_train, y_test = torch.tensor(y_train).float(), torch.tensor(y_test).float()
    model = nn.Sequential(nn.Linear(30, 24), nn.ReLU(), nn.Dropout(0.2), nn.Linear(24, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.BCEWithLogitsLoss()
    for epoch in range(15):
        model.train()
        for idx in torch.randperm(len(x_train)).split(32):
            optimizer.zero_grad()
            loss = criterion(model(x_train[idx]).squeeze(1), y_train[idx])
            loss.backward()
            optimizer.step()
        if epoch % 3 == 2:
            model.eval()
            with torch.no_grad():
                hit = ((model(x_test).squeeze(1) > 0) == y_test.bool()).float().mean()
            print(f"epoch {epoch + 1}: loss {loss.item():.4f} test {hit:.3f}")


if __name__ == "__main__":
    main()
