import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)
CELLS, ACTIONS, GAMMA = 8, 2, 0.9
eye = torch.eye(CELLS)


def step(cells, actions):
    following = (cells + 2 * actions - 1).clamp(0, CELLS - 1)
    done = following == CELLS - 1
    return following, done.float(), done


q_net = nn.Sequential(nn.Linear(CELLS, 32), nn.ReLU(), nn.Linear(32, ACTIONS))
target_net = copy.deepcopy(q_net)
target_net.eval()
optimizer = torch.optim.Adam(q_net.parameters(), lr=5e-3)

for update in range(800):
    cells = torch.randint(0, CELLS - 1, (32,))
    with torch.no_grad():
        greedy = q_net(eye[cells]).argmax(1)
    explore = torch.rand(32) < 0.3
    actions = torch.where(explore, torch.randint(0, ACTIONS, (32,)), greedy)
    following, reward, done = step(cells, actions)
    with torch.no_grad():
        goal = reward + GAMMA * (~done) * target_net(eye[following]).amax(1)
    value = q_net(eye[cells]).gather(1, actions.unsqueeze(1)).squeeze(1)
    loss = F.smooth_l1_loss(value, goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if update % 50 == 49:
        target_net.load_state_dict(q_net.state_dict())
    if update % 200 == 199:
        with torch.no_grad():
            print(update + 1, f"{loss.item():.5f}", [round(v, 2) for v in q_net(eye).amax(1).tolist()])
