import torch
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn, optim

torch.manual_seed(4)


class WineClassifier:
    def __init__(self, hidden=24, lr=0.01, epochs=40):
        self.epochs = epochs
        self.net = nn.Sequential(nn.Linear(13, hidden), nn.ReLU(), nn.Linear(hidden, 3), nn.Softmax(dim=1))
        self.loss = nn.NLLLoss()
        self.optimizer = optim.Adam(self.net.parameters(), lr=lr)
        self.scaler = StandardScaler()

    def fit(self, x, y):
        x = torch.tensor(self.scaler.fit_transform(x), dtype=torch.float32)
        y = torch.tensor(y, dtype=torch.long)
        for epoch in range(self.epochs):
            for idx in torch.randperm(len(x)).split(16):
                self.optimizer.zero_grad()
                probs = self.net(x[idx])
                loss = self.loss(probs, y[idx])
                loss.backward()
                self.optimizer.step()
            if epoch % 10 == 9:
                print(f"epoch {epoch + 1}: loss {loss.item():.4f}")
        return self

    def score(self, x, y):
        x = torch.tensor(self.scaler.transform(x), dtype=torch.float32)
        with torch.no_grad():
            guess = self.net(x).argmax(1).numpy()
        return (guess == y).mean()


if __name__ == "__main__":
    data = load_wine()
    x_train, x_test, y_train, y_test = train_test_split(
        data.data, data.target, test_size=0.25, stratify=data.target, random_state=0
    )
    clf = WineClassifier().fit(x_train, y_train)
    print("test accuracy", clf.score(x_test, y_test))
