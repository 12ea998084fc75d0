"""Forecasts of time series by models of transformers."""

from __future__ import annotations

import torch

from .base import BATCH, Entries, Trial, classes, noise
from .hugging_face import build

entries = Entries(__name__)

PATCHES = {"context_length": 32, "patch_length": 8, "patch_stride": 8, "num_input_channels": 2, "prediction_length": 8,
           "scaling": None, "loss": "mse", "random_mask_ratio": 0.0, "num_parallel_samples": 1}
LAGGED = {"prediction_length": 4, "context_length": 12, "lags_sequence": [1, 2, 3], "num_time_features": 2,
          "input_size": 1, "scaling": "mean", "num_parallel_samples": 1, "label_length": 4, "moving_average": 3}


@entries.entry("patchtst")
def patchtst() -> Trial:
    loss = lambda model, past, future: model(past_values=past, future_values=future).loss
    return Trial(build("PatchTSTForPrediction", "patchtst", **PATCHES), loss, (noise(BATCH, 32, 2), noise(BATCH, 8, 2)))


@entries.entry("patchtst-classes")
def patchtst_classes() -> Trial:
    loss = lambda model, past, labels: model(past_values=past, target_values=labels).loss
    model = build("PatchTSTForClassification", "patchtst", num_targets=5, **PATCHES)
    return Trial(model, loss, (noise(BATCH, 32, 2), classes()))


@entries.entry("patchtsmixer")
def patchtsmixer() -> Trial:
    loss = lambda model, past, future: model(past_values=past, future_values=future).loss
    model = build("PatchTSMixerForPrediction", "patchtsmixer", **PATCHES)
    return Trial(model, loss, (noise(BATCH, 32, 2), noise(BATCH, 8, 2)))


def lagged(model_type: str, auto: str) -> None:
    """Forecasts from past values and the times of past and future values."""

    def make() -> Trial:
        def loss(model, past, past_time, future_time, future):
            return model(past_values=past, past_time_features=past_time, past_observed_mask=torch.ones_like(past),
                         future_time_features=future_time, future_values=future).loss

        inputs = (noise(BATCH, 15), noise(BATCH, 15, 2), noise(BATCH, 4, 2), noise(BATCH, 4))
        return Trial(build(auto, model_type, **LAGGED), loss, inputs)

    entries.add(model_type, make)


lagged("autoformer", "AutoformerForPrediction")
lagged("informer", "InformerForPrediction")
lagged("time_series_transformer", "TimeSeriesTransformerForPrediction")


@entries.entry("timesfm")
def timesfm() -> Trial:
    def loss(model, past, future):
        return model(past_values=list(past), freq=[0, 0], future_values=future).loss

    model = build("TimesFmModelForPrediction", "timesfm", patch_length=8, context_length=32, horizon_length=16)
    return Trial(model, loss, (noise(BATCH, 32), noise(BATCH, 16)))
