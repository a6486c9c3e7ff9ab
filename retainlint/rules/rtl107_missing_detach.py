"""RTL107: a backward pass goes on into a network that its optimiser doesn't own, and frees what another one needs."""

from __future__ import annotations

from retainlint.diagnostic import Detach, Help
from retainlint.rules.freed_rules import FreedRule, compute_anew, uncut_by_both
from retainlint.rules.story import FreedStory


class MissingDetach(FreedRule):
    """A backward pass goes on into a network that its own optimiser doesn't train, and frees what another one needs.

    The discriminator's loss on fake images leads back through the images into the generator. The discriminator's
    optimiser has no use for those gradients, but the backward pass computes them, adds them to the generator's, and
    frees the generator's graph; then the generator's own backward fails. The same happens between actor and critic.

    Give the first loss the tensor detached: `discriminator(fake.detach())`. The gradients of its own network stay the
    same, and backward becomes cheaper.

    """

    code = "RTL107"

    def fits(self, story: FreedStory) -> bool:
        return story.incident.foreign

    def message(self, story: FreedStory) -> str:
        graph = "the graph of" if story.name else "the graph behind"
        return f"{story.backward_pass} needs {graph} `{story.what}`, which {story.first_backward} freed: a `detach()` is missing"

    def helps(self, story: FreedStory) -> tuple[Help, ...]:
        first, second = story.roots
        if story.incident.aside or story.incident.regressed:
            return (uncut_by_both(story),)
        losses = ("the first loss", "the second") if first == second else (f"`{first}`", f"`{second}`")
        return (
            Help(
                f"{story.cut(losses[0])}: its optimiser doesn't train what made it",
                (Detach(story.first_call, story.what, meant=True),),
            ),
            Help(f"compute `{story.what}` again for {losses[1]}", compute_anew(story)),
        )

    fails = {
        "a GAN": """
              import torch
              from torch.nn.functional import softplus

              G, D = torch.nn.Linear(2, 3), torch.nn.Linear(3, 1)
              opt_G = torch.optim.SGD(G.parameters(), lr=0.1)
              opt_D = torch.optim.SGD(D.parameters(), lr=0.1)
              fake = torch.tanh(G(torch.randn(4, 2)))  #~ built

              opt_D.zero_grad()
            - d_loss = softplus(D(fake)).mean()
            + d_loss = softplus(D(fake.detach())).mean()
              d_loss.backward()  #~ freed
              opt_D.step()

              opt_G.zero_grad()
              g_loss = softplus(-D(fake)).mean()
              g_loss.backward()  #~ reused RTL107
              opt_G.step()
        """,
        "an actor that trains on the critic's advantage": """
              actor, critic = torch.nn.Linear(3, 1), torch.nn.Linear(3, 1)
              opt_actor = torch.optim.SGD(actor.parameters(), lr=0.1)
              opt_critic = torch.optim.SGD(critic.parameters(), lr=0.1)
              state = torch.randn(5, 3)
              advantage = torch.tanh(critic(state)) - 1  #~ built

            - actor_loss = (actor(state) * advantage).mean()
            + actor_loss = (actor(state) * advantage.detach()).mean()
              actor_loss.backward()  #~ freed
              opt_actor.step()

              critic_loss = (advantage ** 2).mean()
              critic_loss.backward()  #~ reused RTL107
              opt_critic.step()
        """,
    }
    runs = {
        "the graph below is a view": """
            z = torch.randn(3, requires_grad=True)
            D = torch.nn.Linear(3, 1)
            opt_z, opt_D = torch.optim.SGD([z], lr=0.1), torch.optim.SGD(D.parameters(), lr=0.1)
            fake = z.view(1, 3)
            D(fake).mean().backward()
            opt_D.step()
            D(fake).mean().backward()
            opt_z.step()
        """,
        "the second network is asked with new noise": """
            G, D = torch.nn.Linear(2, 3), torch.nn.Linear(3, 1)
            opt_G, opt_D = torch.optim.SGD(G.parameters(), lr=0.1), torch.optim.SGD(D.parameters(), lr=0.1)
            D(torch.tanh(G(torch.randn(4, 2)))).mean().backward()
            opt_D.step()
            D(torch.tanh(G(torch.randn(4, 2)))).mean().backward()
            opt_G.step()
        """,
    }
