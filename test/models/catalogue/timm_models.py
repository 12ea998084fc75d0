"""Image models of timm, with few channels and small images where the architecture takes sizes."""

from __future__ import annotations

import importlib
from typing import Any, Callable

import torch

from .base import CLASSES, Entries, Trial, classes, classification, image
from .libraries import prepare

entries = Entries(__name__)

TRANSFORMER = {"embed_dim": 32, "depth": 2, "num_heads": 4, "img_size": 32, "patch_size": 8}
# Batch norm over two numbers would give their signs; a slow rate keeps the comparison well conditioned.
IMAGES, RATE = 4, 1e-3


def trial_on(model: torch.nn.Module, size: int) -> Trial:
    return Trial(model, classification, (image(size, batch=IMAGES), classes(IMAGES)), rate=RATE)


def by_name(architecture: str, size: int = 32, **overrides: Any) -> Callable[[], Trial]:
    """An architecture of timm's registry."""

    def make() -> Trial:
        prepare()
        import timm

        return trial_on(timm.create_model(architecture, num_classes=CLASSES, drop_rate=0.0, **overrides), size)

    return make


def by_class(name: str, size: int = 32, **sizes: Any) -> Callable[[], Trial]:
    """A class of timm.models, MODULE.CLASS, with sizes that its registered architectures fix."""

    def make() -> Trial:
        prepare()
        module, class_name = name.split(".")
        model_class = getattr(importlib.import_module(f"timm.models.{module}"), class_name)
        return trial_on(model_class(num_classes=CLASSES, **sizes), size)

    return make


for architecture in """
    beit_base_patch16_224 cait_xxs24_224 deit3_small_patch16_224 deit_tiny_patch16_224 eva02_tiny_patch14_224
    vit_base_patch16_siglip_224 vit_small_patch14_dinov2 vit_small_patch14_reg4_dinov2 vit_tiny_patch16_224
    xcit_nano_12_p8_224
""".split():
    entries.add(f"timm-{architecture}", by_name(architecture, **TRANSFORMER))

STAGES = {"depths": (1, 1, 1, 1), "dims": (16, 24, 32, 48)}
MIXER = {"embed_dim": 32, "num_blocks": 2, "img_size": 32, "patch_size": 8}
WINDOWS = {"img_size": 32, "embed_dim": 16, "depths": (1, 1), "num_heads": (2, 4), "window_size": 4,
           "drop_path_rate": 0.0}
entries.add("timm-convnext", by_name("convnext_atto", **STAGES))
entries.add("timm-convnextv2", by_name("convnextv2_atto", **STAGES))
entries.add("timm-convmixer", by_class("convmixer.ConvMixer", dim=32, depth=2, kernel_size=3, patch_size=4))
entries.add("timm-mlp-mixer", by_class("mlp_mixer.MlpMixer", **MIXER))
entries.add("timm-swin", by_name("swin_tiny_patch4_window7_224", **WINDOWS))
entries.add("timm-swinv2", by_name("swinv2_tiny_window8_256", **WINDOWS))
entries.add("timm-pvt_v2", by_class("pvt_v2.PyramidVisionTransformerV2", embed_dims=(8, 16, 16, 32),
                                    depths=(1, 1, 1, 1), num_heads=(1, 2, 2, 4)))
entries.add("timm-poolformer", by_class("metaformer.MetaFormer", use_mlp_head=False, **STAGES))
entries.add("timm-edgenext", by_name("edgenext_xx_small", size=64))
entries.add("timm-efficientformer", by_name("efficientformer_l1", size=224, embed_dims=(16, 16, 24, 32),
                                            depths=(1, 1, 1, 1)))
entries.add("timm-focalnet", by_class("focalnet.FocalNet", embed_dim=16, depths=(1, 1), focal_levels=(2, 2),
                                      focal_windows=(3, 3), drop_path_rate=0.0))
entries.add("timm-mobilevit", by_name("mobilevit_xxs", size=64))
entries.add("timm-nest", by_class("nest.Nest", img_size=32, embed_dims=(16, 24, 32), num_heads=(2, 3, 4),
                                  depths=(1, 1, 1), patch_size=2, drop_path_rate=0.0))
entries.add("timm-tiny_vit", by_class("tiny_vit.TinyVit", size=64, embed_dims=(16, 16, 32, 32), depths=(1, 1, 1, 1),
                                      num_heads=(1, 2, 2, 2), window_sizes=(4, 4, 4, 2), drop_path_rate=0.0))
entries.add("timm-twins", by_name("twins_svt_small", img_size=64, embed_dims=(16, 16, 32, 32), size=64,
                                  depths=(1, 1, 2, 1), num_heads=(1, 2, 2, 4)))
entries.add("timm-volo", by_class("volo.VOLO", size=64, img_size=64, layers=[1, 1, 1, 1], stem_hidden_dim=16,
                                  embed_dims=[16, 32, 32, 32], num_heads=[2, 4, 4, 4], use_aux_head=False))
entries.add("timm-vgg", by_class("vgg.VGG", cfg=[8, "M", 16, "M", 24, 24, "M"], mlp_ratio=0.01))
for architecture, size in {
    "crossvit_tiny_240": 240, "densenet121": 32, "efficientnet_b0": 64, "ghostnet_100": 64, "hardcorenas_a": 64,
    "levit_128s": 224, "mnasnet_050": 64, "mobilenetv2_050": 64, "mobilenetv3_small_050": 64,
    "mobilenetv4_conv_small_050": 64, "regnetx_002": 64, "regnety_002": 64, "repvgg_a0": 32, "resnet10t": 32,
    "resnet18": 32, "resnext26ts": 32, "rexnet_100": 64, "seresnet18": 32, "skresnet18": 32,
}.items():
    entries.add(f"timm-{architecture}", by_name(architecture, size=size))
