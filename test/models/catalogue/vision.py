"""Image models of transformers: classes of images, pixels and boxes, depth, masked images, video."""

from __future__ import annotations

from typing import Any, Callable

import torch

from .base import BATCH, Entries, Trial, classes, image, mean_square, noise
from .hugging_face import build

entries = Entries(__name__)

STAGES = {"hidden_sizes": [16, 24, 32, 48], "depths": [1, 1, 1, 1], "patch_size": 4}
SWIN = {"embed_dim": 16, "depths": [1, 1], "num_heads": [2, 4], "window_size": 4, "patch_size": 4, "hidden_size": 32}


def images(model_type: str, size: int = 32, auto: str = "AutoModelForImageClassification", **overrides: Any):
    """Five classes of images."""

    def make() -> Trial:
        loss = lambda model, pixel_values, labels: model(pixel_values=pixel_values, labels=labels).loss
        model = build(auto, model_type, **overrides)
        return Trial(model, loss, (image(size), classes()))

    return make


def pictures(model_type: str, auto: str, size: int = 32, **overrides: Any) -> Callable[[], Trial]:
    """A model without labels, or whose labels are a picture."""

    def make() -> Trial:
        loss = lambda model, pixel_values: mean_square(model(pixel_values=pixel_values))
        return Trial(build(auto, model_type, **overrides), loss, (image(size),))

    return make


def pixels(model_type: str, auto: str = "AutoModelForSemanticSegmentation", size: int = 32, **overrides: Any):
    """A class for each pixel."""

    def make() -> Trial:
        loss = lambda model, pixel_values, labels: model(pixel_values=pixel_values, labels=labels).loss
        return Trial(build(auto, model_type, **overrides), loss, (image(size), classes(BATCH, size, size)))

    return make


def boxes(model_type: str, auto: str = "AutoModelForObjectDetection", size: int = 64, **overrides: Any):
    """Logits and boxes of every query, compared with a fixed assignment: the matching of DETR's own loss is a search
    outside of PyTorch."""

    def make() -> Trial:
        def loss(model, pixel_values, labels, boxes):
            out = model(pixel_values=pixel_values)
            count = labels.shape[1]
            scores = torch.nn.functional.cross_entropy(out.logits[:, :count].transpose(1, 2), labels)
            return scores + (out.pred_boxes[:, :count] - boxes.sigmoid()).abs().mean()

        inputs = (image(size), classes(BATCH, 3), noise(BATCH, 3, 4))
        return Trial(build(auto, model_type, **overrides), loss, inputs)

    return make


def video(model_type: str, frames: int = 4, auto: str = "AutoModelForVideoClassification", **overrides: Any):
    def make() -> Trial:
        loss = lambda model, pixel_values, labels: model(pixel_values=pixel_values, labels=labels).loss
        inputs = (noise(BATCH, frames, 3, 32, 32), classes())
        return Trial(build(auto, model_type, **overrides), loss, inputs)

    return make


entries.add("deit", images("deit", auto="DeiTForImageClassification"))
for model_type in "dinov2 dinov2_with_registers ijepa siglip vit vit_msn".split():
    entries.add(model_type, images(model_type))
entries.add("beit", images("beit"))
entries.add("beit-relative", images("beit", use_relative_position_bias=True))
entries.add("data2vec-vision", images("data2vec-vision", use_shared_relative_position_bias=True))
entries.add("bit", images("bit", hidden_sizes=[16, 32], depths=[1, 1], embedding_size=16, num_groups=4))
entries.add("convnext", images("convnext", **STAGES))
entries.add("convnextv2", images("convnextv2", **STAGES))
NO_DROP = dict.fromkeys(("drop_rate", "drop_path_rate", "attention_drop_rate"), [0.0, 0.0, 0.0])
entries.add("cvt", images("cvt", embed_dim=[16, 32, 48], num_heads=[1, 2, 4], depth=[3, 3, 3], **NO_DROP))
entries.add("donut-swin", images("donut-swin", **SWIN))
entries.add("efficientnet", images("efficientnet", width_coefficient=0.25, depth_coefficient=0.2, hidden_dim=320,
                                   image_size=32))
entries.add("focalnet", images("focalnet", embed_dim=16, depths=[1, 1], hidden_sizes=[16, 32], focal_levels=[2, 2],
                               focal_windows=[3, 3], patch_size=4))
entries.add("hgnet_v2", images("hgnet_v2", stem_channels=[3, 8, 16], stage_in_channels=[16, 16],
                               stage_mid_channels=[8, 8], stage_out_channels=[16, 32], stage_num_blocks=[1, 1],
                               stage_downsample=[False, True], stage_light_block=[False, True],
                               stage_kernel_size=[3, 3], stage_numb_of_layers=[2, 2], hidden_sizes=[16, 32],
                               depths=[1, 1], embedding_size=16))
entries.add("hiera", images("hiera", embed_dim=16, image_size=[32, 32], depths=[1, 1], num_heads=[1, 2],
                            masked_unit_size=[2, 2], query_stride=[2, 2], num_query_pool=1, patch_size=[7, 7]))
entries.add("levit", images("levit", auto="LevitForImageClassification", size=64, image_size=64, patch_size=16,
                            hidden_sizes=[16, 32, 48], num_attention_heads=[2, 2, 4], depths=[1, 1, 1],
                            key_dim=[8, 8, 8]))
entries.add("mobilenet_v1", images("mobilenet_v1", depth_multiplier=0.25))
entries.add("mobilenet_v2", images("mobilenet_v2", depth_multiplier=0.25))
entries.add("mobilevit", images("mobilevit", size=64, image_size=64, hidden_sizes=[16, 24, 32],
                                neck_hidden_sizes=[8, 8, 16, 16, 24, 24, 32], patch_size=2))
entries.add("mobilevitv2", images("mobilevitv2", size=64, image_size=64, width_multiplier=0.25, patch_size=2))
entries.add("poolformer", images("poolformer", **STAGES))
entries.add("pvt", images("pvt", hidden_sizes=[16, 32, 32, 48], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 4],
                          sequence_reduction_ratios=[4, 2, 1, 1], patch_sizes=[4, 2, 2, 2]))
entries.add("pvt_v2", images("pvt_v2", hidden_sizes=[16, 32, 32, 48], depths=[1, 1, 1, 1],
                             num_attention_heads=[1, 2, 2, 4], image_size=32))
entries.add("regnet", images("regnet", embedding_size=16, hidden_sizes=[16, 32], depths=[1, 1], groups_width=8))
entries.add("resnet", images("resnet", embedding_size=16, hidden_sizes=[16, 32], depths=[1, 1]))
entries.add("resnet-basic", images("resnet", embedding_size=16, hidden_sizes=[16, 32], depths=[1, 1],
                                   layer_type="basic"))
entries.add("segformer", images("segformer", hidden_sizes=[16, 32, 32, 48], depths=[1, 1, 1, 1],
                                num_attention_heads=[1, 2, 2, 4], decoder_hidden_size=32))
entries.add("swiftformer", images("swiftformer", embed_dims=[16, 24, 32, 48], depths=[1, 1, 1, 1]))
entries.add("swin", images("swin", **SWIN))
entries.add("swinv2", images("swinv2", **SWIN))
entries.add("textnet", images("textnet", stem_out_channels=16, hidden_sizes=[16, 16, 24, 32, 48]))

entries.add("vit-masked-image", pictures("vit", "ViTForMaskedImageModeling", encoder_stride=8))
entries.add("dinov3_vit", pictures("dinov3_vit", "AutoModel", pos_embed_rescale=None))
entries.add("dinov3_convnext", pictures("dinov3_convnext", "AutoModel", **STAGES))
entries.add("swin2sr", pictures("swin2sr", "AutoModelForImageToImage", embed_dim=16, depths=[1, 1], num_heads=[2, 2],
                                window_size=4, num_channels=3, upscale=2, image_size=32, patch_size=1))
entries.add("vitdet", pictures("vitdet", "AutoModel"))
entries.add("depth_anything", pictures(
    "depth_anything", "AutoModelForDepthEstimation", reassemble_hidden_size=32, patch_size=8,
    neck_hidden_sizes=[8, 16], reassemble_factors=[2, 1], fusion_hidden_size=16, head_hidden_size=8,
    depth_estimation_type="metric", max_depth=1,
    backbone_config={"model_type": "dinov2", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
                     "image_size": 32, "patch_size": 8, "out_indices": [1, 2], "reshape_hidden_states": False}))
entries.add("glpn", pictures("glpn", "AutoModelForDepthEstimation", hidden_sizes=[16, 32, 32, 48],
                             depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 4], decoder_hidden_size=16))
entries.add("dpt-pixels", pixels("dpt", num_hidden_layers=4, backbone_out_indices=[0, 1, 2, 3],
                                 neck_hidden_sizes=[8, 8, 16, 16], fusion_hidden_size=16))

entries.add("segformer-pixels", pixels("segformer", hidden_sizes=[16, 32, 32, 48], depths=[1, 1, 1, 1], size=64,
                                       num_attention_heads=[1, 2, 2, 4], decoder_hidden_size=32))
entries.add("beit-pixels", pixels("beit", num_hidden_layers=4, out_indices=[1, 2, 3, 4], use_auxiliary_head=False))
entries.add("mobilenet_v2-pixels", pixels("mobilenet_v2", depth_multiplier=0.25))

DETR = {"encoder_layers": 1, "decoder_layers": 1, "num_queries": 5, "d_model": 32,
        "backbone_config": {"model_type": "resnet", "embedding_size": 16, "hidden_sizes": [16, 32], "depths": [1, 1],
                            "out_features": ["stage2"]}}
entries.add("detr", boxes("detr", **DETR))
entries.add("conditional_detr", boxes("conditional_detr", **DETR))
entries.add("table-transformer", boxes("table-transformer", **DETR))
entries.add("yolos", boxes("yolos", size=32, image_size=[32, 32], num_detection_tokens=5))

entries.add("videomae", video("videomae", num_frames=4))
entries.add("vivit", video("vivit", num_frames=4, tubelet_size=[2, 8, 8]))
entries.add("timesformer", video("timesformer", num_frames=4))
