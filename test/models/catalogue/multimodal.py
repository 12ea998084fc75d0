"""Models of text with images or sound: contrastive pairs, and decoders that read both."""

from __future__ import annotations

from typing import Any, Callable

import torch
import torch.nn.functional as F

from .base import BATCH, LENGTH, Entries, Trial, classes, ids, image, noise
from .hugging_face import build

entries = Entries(__name__)


def contrastive(model_type: str, size: int = 32, auto: str = "AutoModel", **overrides: Any) -> Callable[[], Trial]:
    """Images and texts that belong together."""

    def make() -> Trial:
        def loss(model, input_ids, pixel_values):
            out = model(input_ids=input_ids, pixel_values=pixel_values)
            scores, places = out.logits_per_image, torch.arange(BATCH)
            return F.cross_entropy(scores, places) + F.cross_entropy(scores.T, places)

        return Trial(build(auto, model_type, **overrides), loss, (ids(), image(size)), rate=3e-4)

    return make


for model_type in "altclip chinese_clip clip metaclip_2 siglip".split():
    entries.add(f"{model_type}-pair", contrastive(model_type))
entries.add("blip-pair", contrastive("blip"))

IMAGE_TOKEN = 100
VISION = {"vision_config": {"model_type": "clip_vision_model", "projection_dim": 32}}


def with_image(model_type: str, tokens: int, pixels: Callable | None = None, **overrides: Any) -> Callable[[], Trial]:
    """A decoder that reads an image in place of the first `tokens` tokens."""

    def make() -> Trial:
        def text(generator):
            words = torch.randint(3, IMAGE_TOKEN, (BATCH, LENGTH + tokens), generator=generator)
            words[:, :tokens] = IMAGE_TOKEN
            return words

        def loss(model, input_ids, pixel_values):
            return model(input_ids=input_ids, pixel_values=pixel_values, labels=input_ids).loss

        model = build("AutoModelForImageTextToText", model_type, image_token_id=IMAGE_TOKEN,
                      image_token_index=IMAGE_TOKEN, **overrides)
        return Trial(model, loss, (text, pixels or image(32)))

    return make


LLAMA = {"text_config": {"model_type": "llama"}}
entries.add("llava", with_image("llava", 16, **VISION))
entries.add("vipllava", with_image("vipllava", 16, **VISION | {"vision_feature_layers": [0, 1]}))
entries.add("paligemma", with_image("paligemma", 16, projection_dim=32, vision_config={"projection_dim": 32}))
entries.add("gemma3-image", with_image("gemma3", 4, mm_tokens_per_image=4))
entries.add("internvl", with_image("internvl", 4, vision_config={"image_size": [32, 32], "patch_size": [8, 8]}))


@entries.entry("git-image")
def git_image() -> Trial:
    loss = lambda model, input_ids, pixel_values: model(
        input_ids=input_ids, pixel_values=pixel_values, labels=input_ids).loss
    return Trial(build("AutoModelForCausalLM", "git"), loss, (ids(), image(32)), rate=3e-4)


@entries.entry("blip-captions")
def blip_captions() -> Trial:
    loss = lambda model, input_ids, pixel_values: model(
        input_ids=input_ids, pixel_values=pixel_values, labels=input_ids).loss
    return Trial(build("BlipForConditionalGeneration", "blip"), loss, (ids(), image(32)))


@entries.entry("vilt-answers")
def vilt_answers() -> Trial:
    loss = lambda model, input_ids, pixel_values, labels: model(
        input_ids=input_ids, pixel_values=pixel_values, labels=labels).loss
    return Trial(build("ViltForQuestionAnswering", "vilt"), loss, (ids(), image(32), noise(BATCH, 5)))


@entries.entry("clap-pair")
def clap_pair() -> Trial:
    loss = lambda model, input_ids, sound: model(input_ids=input_ids, input_features=sound, return_loss=True).loss
    model = build("ClapModel", "clap", audio_config={
        "depths": [1, 1], "num_attention_heads": [2, 4], "patch_embeds_hidden_size": 16, "hidden_size": 32,
        "spec_size": 64, "num_mel_bins": 16, "window_size": 4, "patch_size": 4, "patch_stride": [4, 4],
        "projection_dim": 32})
    return Trial(model, loss, (ids(), noise(BATCH, 1, 64, 16)))


def written_page(model_type: str, auto: str, labels: Callable, **overrides: Any) -> Callable[[], Trial]:
    """Words with their boxes on a page."""

    def make() -> Trial:
        def boxes(generator):
            corner = torch.randint(0, 40, (BATCH, LENGTH, 2), generator=generator)
            return torch.cat((corner, corner + 9), -1)

        loss = lambda model, input_ids, bbox, labels: model(input_ids=input_ids, bbox=bbox, labels=labels).loss
        model = build(auto, model_type, max_2d_position_embeddings=64, **overrides)
        return Trial(model, loss, (ids(), boxes, labels()))

    return make


entries.add("layoutlm-page", written_page("layoutlm", "LayoutLMForTokenClassification", lambda: classes(BATCH, LENGTH)))
entries.add("lilt-page", written_page("lilt", "LiltForSequenceClassification", classes, hidden_size=48))
entries.add("bros-page", written_page(
    "bros", "BrosForTokenClassification", lambda: classes(BATCH, LENGTH), hidden_size=64))


@entries.entry("encoder-of-images-decoder-of-text")
def image_to_text() -> Trial:
    from .libraries import prepare

    prepare()
    from transformers import VisionEncoderDecoderModel

    model = VisionEncoderDecoderModel(encoder=build("AutoModel", "vit"),
                                      decoder=build("AutoModelForCausalLM", "bert", is_decoder=True,
                                                    add_cross_attention=True))
    model.config.decoder_start_token_id, model.config.pad_token_id = 1, 0
    loss = lambda model, pixel_values, labels: model(pixel_values=pixel_values, labels=labels).loss
    return Trial(model, loss, (image(32), ids()))
