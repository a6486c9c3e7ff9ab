"""RTL204: tensors are put into a list with their graphs."""

from __future__ import annotations

from retainlint.rules.kept_rules import KeptRule


class StoredGraph(KeptRule):
    """A list for the log holds on to the graph of every iteration (`losses.append(loss)`).

    Each element leads to its graph. If backward used that, what it saved is gone and only the nodes stay: small, but
    growing with each iteration. If it never was (a validation loop or a rollout without `no_grad`), or was used with
    `retain_graph=True`, all activations of all iterations stay for as long as the list does, and memory may run out.

    A dict that gets a new key in each iteration, and tuples or dicts with tensors in them that are appended, are the
    same; so is a `deque(maxlen=100)`, for as many graphs as it holds. What few iterations keep is left alone, as RTL203
    says.

    Append `loss.item()`, or `output.detach()` where the tensor is needed, or has more than one element. A list whose
    elements backward uses later is none of this rule's business.

    """

    code = "RTL204"
    stored = True

    fails = {
        "a history of losses": """
              model, history = torch.nn.Linear(4, 1), []
              for _ in range(20):
                  loss = model(torch.randn(8, 4)).pow(2).mean()
                  loss.backward()  #~ freed
            -     history.append(loss)  #~ wasted RTL204
            +     history.append(loss.detach())
              print(sum(history) / len(history))
        """,
        "outputs collected without no_grad": """
              model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
              outputs = []
              for _ in range(20):
                  output = model(torch.randn(8, 4))
            -     outputs.append(output)  #~ wasted RTL204
            +     outputs.append(output.detach())
              print(torch.cat(outputs).mean().item())
        """,
        "features that a hook keeps": """
              model, features = torch.nn.Linear(4, 3), []
            - model.register_forward_hook(lambda module, args, output: features.append(output))
            + model.register_forward_hook(lambda module, args, output: features.append(output.detach()))
              for _ in range(20):
                  model(torch.randn(8, 4)).mean().backward()  #~ wasted RTL204
              print(features[-1].norm().item())
        """,
    }
    runs = {
        "the losses of an episode, used at its end": """
            policy = torch.nn.Linear(4, 2)
            for _ in range(20):
                losses = []
                for _ in range(10):
                    losses.append(-policy(torch.randn(4)).log_softmax(0)[0])
                torch.stack(losses).sum().backward()
        """,
        "a window of the last ten": """
            import collections
            import torch

            w = torch.ones(3, requires_grad=True)
            recent = collections.deque(maxlen=10)
            for _ in range(20):
                loss = (w * w).sum()
                loss.backward()
                recent.append(loss)
        """,
        "the detached output": """
            model, outputs = torch.nn.Linear(4, 1), []
            for _ in range(20):
                output = model(torch.randn(8, 4))
                output.pow(2).mean().backward()
                outputs.append(output.detach())
        """,
        "what the first batch left, by a cut": """
            model, kept = torch.nn.Linear(4, 3), []
            for _ in range(20):
                features = model(torch.randn(8, 4))
                kept.append(features.detach())
                (features - kept[0]).pow(2).mean().backward()
        """,
        "a new list in each iteration": """
            w = torch.ones(3, requires_grad=True)
            for _ in range(20):
                parts = []
                parts.append((w * w).sum())
                parts.append(w.exp().sum())
                sum(parts).backward()
        """,
    }
