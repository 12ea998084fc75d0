"""Decision transformers and other models that are neither of text, of images, nor of sound: proteins, tables, music."""

from __future__ import annotations

import torch

from .base import BATCH, Entries, Trial, ids, mean_square, noise
from .hugging_face import build, masked

entries = Entries(__name__)


@entries.entry("decision_transformer")
def decision_transformer() -> Trial:
    def loss(model, states, actions, returns, wanted):
        length = states.shape[1]
        times = torch.arange(length).expand(len(states), length)
        mask = torch.ones(len(states), length)
        out = model(states=states, actions=actions, rewards=returns, returns_to_go=returns, timesteps=times,
                    attention_mask=mask)
        return (out.action_preds - wanted).square().mean()

    model = build("DecisionTransformerModel", "decision_transformer", state_dim=6, act_dim=3, max_ep_len=32)
    inputs = (noise(BATCH, 8, 6), noise(BATCH, 8, 3), noise(BATCH, 8, 1), noise(BATCH, 8, 3))
    return Trial(model, loss, inputs)


entries.add("esm-protein", masked("esm", position_embedding_type="rotary", token_dropout=False, mask_token_id=4))


@entries.entry("perceiver-text")
def perceiver_text() -> Trial:
    loss = lambda model, inputs, labels: model(inputs=inputs, labels=labels).loss
    model = build("AutoModelForMaskedLM", "perceiver", num_latents=7, d_latents=32, d_model=32, num_blocks=1,
                  num_self_attends_per_block=1, num_self_attention_heads=2, num_cross_attention_heads=2,
                  max_position_embeddings=16, qk_channels=32, v_channels=32)
    return Trial(model, loss, (ids(), ids()))


@entries.entry("trajectory-gpt")
def trajectory_gpt() -> Trial:
    """Continuous states into a GPT by inputs_embeds, and out of its hidden states."""
    model = build("GPT2Model", "gpt2")
    loss = lambda model, states: mean_square(model(inputs_embeds=states))
    return Trial(model, loss, (noise(BATCH, 8, 32),))
