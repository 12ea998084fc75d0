"""Losses: preferences, distillation and weighted tokens on a small GPT-2 or Llama; of vectors on a small net."""

from __future__ import annotations

from typing import Callable

import torch
import torch.nn as nn
import torch.nn.functional as F

from .base import BATCH, CLASSES, LENGTH, VOCABULARY, Entries, Trial, classes, ids, noise, uniform
from .hugging_face import build

entries = Entries(__name__)


def gpt2() -> nn.Module:
    return build("AutoModelForCausalLM", "gpt2")


def llama() -> nn.Module:
    return build("AutoModelForCausalLM", "llama")


def token_log_probabilities(model: nn.Module, tokens: torch.Tensor) -> torch.Tensor:
    """[batch, length - 1]: of each token but the first, given those before it."""
    scores = model(input_ids=tokens).logits[:, :-1].log_softmax(-1)
    return scores.gather(-1, tokens[:, 1:, None]).squeeze(-1)


def add(name: str, loss: Callable, *inputs, model: Callable[[], nn.Module] = gpt2) -> None:
    entries.add(name, lambda: Trial(model(), loss, inputs))


# Preferences: two completions of each prompt, or one with a verdict. What the reference model says is an input.


def dpo(model, chosen, rejected, chosen_reference, rejected_reference):
    margin = token_log_probabilities(model, chosen).sum(-1) - token_log_probabilities(model, rejected).sum(-1)
    return -F.logsigmoid(0.1 * (margin - (chosen_reference - rejected_reference))).mean()


def ipo(model, chosen, rejected, chosen_reference, rejected_reference):
    margin = token_log_probabilities(model, chosen).mean(-1) - token_log_probabilities(model, rejected).mean(-1)
    return (margin - (chosen_reference - rejected_reference) - 0.5).square().mean()


def kto(model, tokens, reference, desirable):
    ratio = token_log_probabilities(model, tokens).sum(-1) - reference
    baseline = ratio.mean().clamp(min=0).detach()
    return torch.where(desirable > 0.5, 1 - (0.1 * (ratio - baseline)).sigmoid(),
                       1 - (0.1 * (baseline - ratio)).sigmoid()).mean()


def orpo(model, chosen, rejected):
    good, bad = token_log_probabilities(model, chosen).mean(-1), token_log_probabilities(model, rejected).mean(-1)
    odds = (good - bad) - (torch.log1p(-good.exp()) - torch.log1p(-bad.exp()))
    return -good.mean() - 0.1 * F.logsigmoid(odds).mean()


def simpo(model, chosen, rejected):
    good, bad = token_log_probabilities(model, chosen).mean(-1), token_log_probabilities(model, rejected).mean(-1)
    return F.softplus(-(2.0 * (good - bad) - 0.5)).mean()


def grpo(model, tokens, old, advantages, keep):
    ratio = (token_log_probabilities(model, tokens) - old).exp()
    gain = torch.minimum(ratio * advantages[:, None], ratio.clamp(0.8, 1.2) * advantages[:, None])
    return -(gain * (keep > 0.2)).sum() / (keep > 0.2).sum()


def ppo_value(model, tokens, returns, old):
    values = model(tokens).logits.squeeze(-1)
    clipped = old + (values - old).clamp(-0.2, 0.2)
    return 0.5 * torch.maximum((values - returns).square(), (clipped - returns).square()).mean()


def reward(model, chosen, rejected):
    return -F.logsigmoid(model(input_ids=chosen).logits - model(input_ids=rejected).logits).mean()


PAIR = (ids(), ids())
add("dpo", dpo, *PAIR, noise(BATCH), noise(BATCH))
add("dpo-llama", dpo, *PAIR, noise(BATCH), noise(BATCH), model=llama)
add("ipo", ipo, *PAIR, noise(BATCH), noise(BATCH))
reference = lambda generator: -70 + torch.randn(BATCH, generator=generator)
add("kto", kto, ids(), reference, uniform(BATCH))
add("orpo", orpo, *PAIR)
add("simpo", simpo, *PAIR)
old_probabilities = lambda generator: -4.6 + 0.1 * torch.randn(BATCH, LENGTH - 1, generator=generator)
add("grpo", grpo, ids(), old_probabilities, noise(BATCH), uniform(BATCH, LENGTH - 1))
one_score = lambda: build("AutoModelForSequenceClassification", "gpt2", num_labels=1)
one_value = lambda: build("AutoModelForTokenClassification", "gpt2", num_labels=1, classifier_dropout=0.0)
add("reward", reward, *PAIR, model=one_score)
add("ppo-value", ppo_value, ids(), noise(BATCH, LENGTH), noise(BATCH, LENGTH), model=one_value)

# Distillation: the teacher's logits are an input.

teacher = noise(BATCH, LENGTH, VOCABULARY)


def distillation(model, tokens, teacher):
    scores = F.log_softmax(model(input_ids=tokens).logits / 2.0, -1)
    return F.kl_div(scores, F.softmax(teacher / 2.0, -1), reduction="batchmean") * 4.0


def distillation_log_target(model, tokens, teacher):
    scores = F.log_softmax(model(input_ids=tokens).logits, -1)
    return F.kl_div(scores, F.log_softmax(teacher, -1), reduction="mean", log_target=True)


def jensen_shannon(model, tokens, teacher):
    p, q = F.softmax(model(input_ids=tokens).logits, -1), F.softmax(teacher, -1)
    middle = (0.5 * (p + q)).log()
    return 0.5 * ((p * (p.log() - middle)).sum(-1) + (q * (q.log() - middle)).sum(-1)).mean()


def matched_features(model, tokens, features):
    states = model(input_ids=tokens, output_hidden_states=True).hidden_states
    return sum(F.mse_loss(state, features) for state in states) + model(input_ids=tokens, labels=tokens).loss


add("distillation", distillation, ids(), teacher)
add("distillation-log-target", distillation_log_target, ids(), teacher)
add("distillation-jensen-shannon", jensen_shannon, ids(), teacher)
add("distillation-features", matched_features, ids(), noise(BATCH, LENGTH, 32))

# Cross entropy, weighted and changed.


def cross_entropy(**options) -> Callable:
    def loss(model, tokens, targets):
        return F.cross_entropy(model(input_ids=tokens).logits.flatten(0, 1), targets.flatten(), **options)

    return loss


def class_weights(model, tokens, targets):
    weights = torch.linspace(0.5, 1.5, VOCABULARY)
    return F.cross_entropy(model(input_ids=tokens).logits.flatten(0, 1), targets.flatten(), weight=weights)


def soft_targets(model, tokens, teacher):
    return F.cross_entropy(model(input_ids=tokens).logits.flatten(0, 1), teacher.softmax(-1).flatten(0, 1))


def focal(model, tokens, targets):
    scores = F.cross_entropy(model(input_ids=tokens).logits.flatten(0, 1), targets.flatten(), reduction="none")
    return ((1 - (-scores).exp()) ** 2 * scores).mean()


def z_loss(model, tokens, targets):
    logits = model(input_ids=tokens).logits.flatten(0, 1)
    return F.cross_entropy(logits, targets.flatten()) + 1e-2 * logits.logsumexp(-1).square().mean()


def weighted_tokens(model, tokens, targets, weights):
    scores = F.cross_entropy(model(input_ids=tokens).logits.transpose(1, 2), targets, reduction="none")
    return (scores * weights).sum() / weights.sum()


def hard_examples(model, tokens, targets):
    scores = F.cross_entropy(model(input_ids=tokens).logits.flatten(0, 1), targets.flatten(), reduction="none")
    return scores.topk(8).values.mean()


def chosen_tokens(model, tokens, targets):
    logits = model(input_ids=tokens).logits
    kept = targets > 50
    return F.cross_entropy(logits[kept], targets[kept])


def nll(model, tokens, targets):
    return F.nll_loss(model(input_ids=tokens).logits.log_softmax(-1).flatten(0, 1), targets.flatten())


def unlikelihood(model, tokens):
    probability = token_log_probabilities(model, tokens).exp()
    return -(1 - probability).clamp(min=1e-5).log().mean() - probability.log().mean()


def entropy_bonus(model, tokens, targets):
    scores = model(input_ids=tokens).logits.log_softmax(-1)
    return F.nll_loss(scores.flatten(0, 1), targets.flatten()) + 0.1 * (scores.exp() * scores).sum(-1).mean()


def documents(model, tokens, starts):
    """Packed documents: attention stays within each, by a mask made of the places where documents start."""
    document = (starts > 0.8).cumsum(-1)
    same = document[:, None, :, None] == document[:, None, None, :]
    mask = same & torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()
    return model(input_ids=tokens, attention_mask=mask, labels=tokens).loss


def padded(on_the_left: bool) -> Callable:
    """Sequences that are up to half padding. On the left, its queries see no key."""
    def loss(model, tokens, shares):
        count = (shares * LENGTH / 2).long()[:, None]
        position = torch.arange(LENGTH)
        mask = (position >= count) if on_the_left else (position < LENGTH - count)
        return model(input_ids=tokens, attention_mask=mask.long(), labels=tokens.masked_fill(~mask, -100)).loss
    return loss


def two_ahead(model, tokens):
    """Tokens one and two positions ahead."""
    logits = model(input_ids=tokens).logits
    return sum(F.cross_entropy(logits[:, :-n].flatten(0, 1), tokens[:, n:].flatten()) / n for n in (1, 2))


add("cross-entropy", cross_entropy(), *PAIR)
add("cross-entropy-sum", cross_entropy(reduction="sum"), *PAIR)
add("cross-entropy-ignored", cross_entropy(ignore_index=7), ids(), ids(below=12))
add("label-smoothing", cross_entropy(label_smoothing=0.1), *PAIR)
add("class-weights", class_weights, *PAIR)
add("soft-targets", soft_targets, ids(), teacher)
add("focal", focal, *PAIR)
add("z-loss", z_loss, *PAIR)
add("weighted-tokens", weighted_tokens, *PAIR, uniform(BATCH, LENGTH))
add("hard-examples", hard_examples, *PAIR)
add("boolean-index", chosen_tokens, *PAIR)
add("nll", nll, *PAIR)
add("unlikelihood", unlikelihood, ids())
add("entropy-bonus", entropy_bonus, *PAIR)
add("padded-left", padded(True), ids(), uniform(BATCH), model=llama)
add("padded-right", padded(False), ids(), uniform(BATCH), model=llama)
add("packed-documents", documents, ids(), uniform(BATCH, LENGTH), model=llama)
add("two-tokens-ahead", two_ahead, ids())

# On vectors: each entry's model gives [batch, CLASSES] or [batch, width].

rows = noise(8, 20)


def net(outputs: int) -> Callable[[], nn.Module]:
    return lambda: nn.Sequential(nn.Linear(20, 32), nn.Tanh(), nn.Linear(32, outputs))


def on_vectors(name: str, loss: Callable, *inputs, outputs: int = 16) -> None:
    add(name, loss, *inputs, model=net(outputs))


def info_nce(model, a, b):
    similarity = F.normalize(model(a), dim=-1) @ F.normalize(model(b), dim=-1).T / 0.1
    places = torch.arange(len(similarity))
    return 0.5 * (F.cross_entropy(similarity, places) + F.cross_entropy(similarity.T, places))


def cosine_distance(model, a, b):
    return (1 - F.cosine_similarity(model(a), model(b), dim=-1)).mean()


def cosine_embedding(model, a, b, same):
    return F.cosine_embedding_loss(model(a), model(b), torch.where(same > 0.5, 1.0, -1.0), margin=0.2)


def triplet(model, anchor, near, far):
    return F.triplet_margin_loss(model(anchor), model(near), model(far), margin=1.0)


def matryoshka(model, x, labels):
    logits = model(x)
    return sum(F.cross_entropy(F.pad(logits[:, :n], (0, CLASSES - n), value=-5.0), labels) for n in (3, CLASSES))


def barlow_twins(model, a, b):
    a, b = (F.layer_norm(model(x).T, (8,)).T for x in (a, b))
    cross = a.T @ b / len(a)
    diagonal = torch.eye(cross.shape[0])
    return ((cross - 1).square() * diagonal + 5e-3 * cross.square() * (1 - diagonal)).sum()


def ctc(model, x, labels):
    scores = model(x).log_softmax(-1).transpose(0, 1)
    return F.ctc_loss(scores, labels, torch.tensor([12, 12]), torch.tensor([4, 4]))


def weighted_binary(model, x, y):
    return F.binary_cross_entropy_with_logits(model(x), (y > 0.5).float(), pos_weight=torch.linspace(1, 3, CLASSES))


def margin_ranking(model, a, b):
    return F.margin_ranking_loss(model(a).squeeze(-1), model(b).squeeze(-1), torch.ones(8), margin=0.5)


def listwise(model, x, relevance):
    return -(relevance.softmax(0) * model(x).squeeze(-1).log_softmax(0)).sum()


on_vectors("contrastive", info_nce, rows, rows)
on_vectors("cosine-similarity", cosine_distance, rows, rows)
on_vectors("cosine-embedding", cosine_embedding, rows, rows, uniform(8))
on_vectors("triplet", triplet, rows, rows, rows)
on_vectors("matryoshka", matryoshka, rows, classes(8), outputs=CLASSES)
on_vectors("barlow-twins", barlow_twins, rows, rows)
on_vectors("ctc", ctc, noise(BATCH, 12, 20), ids(BATCH, 4, below=CLASSES, first=1), outputs=CLASSES)
on_vectors("bce-pos-weight", weighted_binary, rows, uniform(8, CLASSES), outputs=CLASSES)
on_vectors("margin-ranking", margin_ranking, rows, rows, outputs=1)
on_vectors("listwise-ranking", listwise, rows, noise(8), outputs=1)
for name, function in {
    "huber": lambda y, t: F.huber_loss(y, t, delta=0.5),
    "smooth-l1": F.smooth_l1_loss,
    "l1": F.l1_loss,
    "log-cosh": lambda y, t: (y - t).cosh().log().mean(),
    "poisson": lambda y, t: F.poisson_nll_loss(y, t.abs()),
    "gaussian": lambda y, t: F.gaussian_nll_loss(y, t, torch.full_like(t, 0.5)),
    "quantile": lambda y, t: torch.maximum(0.9 * (t - y), -0.1 * (t - y)).mean(),
    "hinge": lambda y, t: F.hinge_embedding_loss(y, t.sign()),
    "soft-margin": lambda y, t: F.soft_margin_loss(y, t.sign()),
    "multi-label": lambda y, t: F.multilabel_soft_margin_loss(y, (t > 0).float()),
}.items():
    on_vectors(name, lambda model, x, y, function=function: function(model(x), y), rows, noise(8, 16))
on_vectors("multi-margin", lambda model, x, y: F.multi_margin_loss(model(x), y), rows, classes(8), outputs=CLASSES)
