"""Denoisers and autoencoders of diffusers: the noise is an input, the loss its mean square error."""

from __future__ import annotations

from typing import Any, Callable

import torch

from .base import BATCH, Entries, Trial, fixed, ids, image, mean_square, noise
from .libraries import prepare

entries = Entries(__name__)

TIMES = fixed(torch.tensor([3, 250]))
DOWN, UP = ("DownBlock2D", "AttnDownBlock2D"), ("AttnUpBlock2D", "UpBlock2D")
UNET = {"sample_size": 16, "block_out_channels": (16, 32), "layers_per_block": 1, "norm_num_groups": 8}


def made(name: str, **sizes: Any) -> torch.nn.Module:
    prepare()
    import diffusers

    return getattr(diffusers, name)(**sizes)


def denoiser(name: str, size: int = 16, channels: int = 3, **sizes: Any) -> Callable[[], Trial]:
    """A model of a noisy picture and a time."""

    def make() -> Trial:
        def loss(model, sample, time, target):
            return (model(sample, time).sample - target).square().mean()

        return Trial(made(name, **sizes), loss, (image(size, channels), TIMES, image(size, channels)))

    return make


def conditioned(name: str, sample: tuple[int, ...], states: tuple[int, ...], sizes: dict[str, Any],
                pooled: int = 0) -> Callable[[], Trial]:
    """A model of a noisy sample, a time and the states of a text."""

    def make() -> Trial:
        if pooled:
            def loss(model, hidden_states, encoder_hidden_states, pooled_projections, timestep, target):
                out = model(hidden_states=hidden_states, encoder_hidden_states=encoder_hidden_states,
                            pooled_projections=pooled_projections, timestep=timestep).sample
                return (out - target).square().mean()

            inputs = (noise(*sample), noise(*states), noise(BATCH, pooled), TIMES, noise(*sample))
        else:
            def loss(model, hidden_states, encoder_hidden_states, timestep):
                return mean_square(model(hidden_states, encoder_hidden_states=encoder_hidden_states,
                                         timestep=timestep))

            inputs = (noise(*sample), noise(*states), TIMES)
        return Trial(made(name, **sizes), loss, inputs)

    return make


entries.add("unet-2d", denoiser("UNet2DModel", down_block_types=DOWN, up_block_types=UP, attention_head_dim=8, **UNET))
entries.add("unet-2d-plain", denoiser("UNet2DModel", down_block_types=("DownBlock2D",) * 2,
                                      up_block_types=("UpBlock2D",) * 2, **UNET))


@entries.entry("unet-2d-text")
def unet_2d_text() -> Trial:
    model = made("UNet2DConditionModel", cross_attention_dim=32, attention_head_dim=8, in_channels=4, out_channels=4,
                 down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
                 up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"), **UNET)
    loss = lambda model, sample, time, states, target: (model(sample, time, states).sample - target).square().mean()
    return Trial(model, loss, (image(16, 4), TIMES, noise(BATCH, 6, 32), image(16, 4)))


@entries.entry("dit")
def dit() -> Trial:
    model = made("DiTTransformer2DModel", num_attention_heads=2, attention_head_dim=16, in_channels=4, num_layers=2,
                 sample_size=8, patch_size=2, num_embeds_ada_norm=10, norm_num_groups=8)
    for block in model.transformer_blocks:
        block.norm1.emb.class_embedder.dropout_prob = 0.0
    loss = lambda model, sample, time, labels: mean_square(model(sample, time, labels))
    return Trial(model, loss, (image(8, 4), TIMES, ids(BATCH, below=10, first=0)))


entries.add("sd3", conditioned("SD3Transformer2DModel", (BATCH, 4, 8, 8), (BATCH, 6, 24), {
    "sample_size": 8, "patch_size": 2, "in_channels": 4, "num_layers": 2, "attention_head_dim": 16,
    "num_attention_heads": 2, "joint_attention_dim": 24, "caption_projection_dim": 32, "pooled_projection_dim": 20,
    "out_channels": 4, "pos_embed_max_size": 8}, pooled=20))
entries.add("pixart", conditioned("PixArtTransformer2DModel", (BATCH, 4, 8, 8), (BATCH, 6, 24), {
    "sample_size": 8, "patch_size": 2, "in_channels": 4, "out_channels": 8, "num_layers": 2, "attention_head_dim": 16,
    "num_attention_heads": 2, "caption_channels": 24, "cross_attention_dim": 32, "use_additional_conditions": False}))
entries.add("auraflow", conditioned("AuraFlowTransformer2DModel", (BATCH, 4, 8, 8), (BATCH, 6, 24), {
    "sample_size": 8, "patch_size": 2, "in_channels": 4, "num_mmdit_layers": 1, "num_single_dit_layers": 1,
    "attention_head_dim": 16, "num_attention_heads": 2, "joint_attention_dim": 24, "caption_projection_dim": 32,
    "out_channels": 4, "pos_embed_max_size": 16}))
entries.add("sana", conditioned("SanaTransformer2DModel", (BATCH, 4, 8, 8), (BATCH, 6, 24), {
    "sample_size": 8, "patch_size": 1, "in_channels": 4, "out_channels": 4, "num_layers": 1, "attention_head_dim": 16,
    "num_attention_heads": 2, "num_cross_attention_heads": 2, "cross_attention_head_dim": 16,
    "cross_attention_dim": 32, "caption_channels": 24}))
entries.add("cogvideox", conditioned("CogVideoXTransformer3DModel", (BATCH, 2, 4, 8, 8), (BATCH, 6, 24), {
    "num_attention_heads": 2, "attention_head_dim": 16, "in_channels": 4, "out_channels": 4, "time_embed_dim": 8,
    "text_embed_dim": 24, "num_layers": 2, "sample_width": 8, "sample_height": 8, "sample_frames": 5, "patch_size": 2,
    "max_text_seq_length": 6}))
entries.add("wan", conditioned("WanTransformer3DModel", (BATCH, 4, 2, 8, 8), (BATCH, 6, 24), {
    "num_attention_heads": 2, "attention_head_dim": 12, "in_channels": 4, "out_channels": 4, "text_dim": 24,
    "freq_dim": 16, "ffn_dim": 48, "num_layers": 2, "rope_max_seq_len": 16}))


@entries.entry("flux")
def flux() -> Trial:
    model = made("FluxTransformer2DModel", patch_size=1, in_channels=4, num_layers=1, num_single_layers=1,
                 attention_head_dim=16, num_attention_heads=2, joint_attention_dim=24, pooled_projection_dim=20,
                 axes_dims_rope=(4, 4, 8))

    def loss(model, sample, text, pooled, time):
        return mean_square(model(hidden_states=sample, encoder_hidden_states=text, pooled_projections=pooled,
                                 timestep=time.float() / 1000, img_ids=torch.zeros(16, 3), txt_ids=torch.zeros(6, 3)))

    return Trial(model, loss, (noise(BATCH, 16, 4), noise(BATCH, 6, 24), noise(BATCH, 20), TIMES))


@entries.entry("transformer-2d")
def transformer_2d() -> Trial:
    model = made("Transformer2DModel", num_attention_heads=2, attention_head_dim=16, in_channels=32, num_layers=1,
                 cross_attention_dim=24, norm_num_groups=8)
    loss = lambda model, sample, states: mean_square(model(sample, encoder_hidden_states=states))
    return Trial(model, loss, (image(8, 32), noise(BATCH, 6, 24)))


@entries.entry("prior-transformer")
def prior_transformer() -> Trial:
    model = made("PriorTransformer", num_attention_heads=2, attention_head_dim=16, num_layers=1, embedding_dim=32,
                 num_embeddings=6, additional_embeddings=4)

    def loss(model, sample, time, embedding, states):
        return mean_square(model(sample, time, proj_embedding=embedding, encoder_hidden_states=states))

    return Trial(model, loss, (noise(BATCH, 32), TIMES, noise(BATCH, 32), noise(BATCH, 6, 32)))


def reconstruction(model, sample):
    moments = model.encode(sample).latent_dist
    return (model.decode(moments.mean).sample - sample).square().mean() + 1e-3 * moments.kl().mean()


VAE = {"block_out_channels": (16, 32), "layers_per_block": 1, "norm_num_groups": 8, "latent_channels": 4,
       "down_block_types": ("DownEncoderBlock2D",) * 2, "up_block_types": ("UpDecoderBlock2D",) * 2}
entries.add("vae", lambda: Trial(made("AutoencoderKL", **VAE), reconstruction, (image(16),)))


@entries.entry("vae-tiny")
def vae_tiny() -> Trial:
    model = made("AutoencoderTiny", encoder_block_out_channels=(8, 8), decoder_block_out_channels=(8, 8),
                 num_encoder_blocks=(1, 1), num_decoder_blocks=(1, 1))
    loss = lambda model, sample: (model.decode(model.encode(sample).latents).sample - sample).square().mean()
    return Trial(model, loss, (image(16),))


@entries.entry("vq-model")
def vq_model() -> Trial:
    model = made("VQModel", **VAE | {"num_vq_embeddings": 16})
    loss = lambda model, sample: (model(sample).sample - sample).square().mean()
    return Trial(model, loss, (image(16),))


@entries.entry("controlnet")
def controlnet() -> Trial:
    model = made("ControlNetModel", cross_attention_dim=32, attention_head_dim=8, in_channels=4,
                 down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), block_out_channels=(16, 32),
                 layers_per_block=1, norm_num_groups=8, conditioning_embedding_out_channels=(8, 16))
    with torch.no_grad():  # its last convolutions start at zero
        for parameter in model.parameters():
            parameter.add_(0.02 * torch.randn_like(parameter))
    loss = lambda model, sample, time, states, picture: mean_square(
        model(sample, time, states, picture).mid_block_res_sample)
    return Trial(model, loss, (image(16, 4), TIMES, noise(BATCH, 6, 32), image(32)))
