"""Speech models of transformers: waveforms or spectrograms to text, to classes, to spectrograms."""

from __future__ import annotations

from typing import Any, Callable

from .base import BATCH, Entries, Trial, classes, ids, mean_square, noise
from .hugging_face import build

entries = Entries(__name__)

WAVE = {"conv_dim": [16, 16, 16], "conv_stride": [5, 4, 2], "conv_kernel": [10, 4, 4], "num_feat_extract_layers": 3,
        "num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 2, "mask_time_prob": 0.0,
        "mask_feature_prob": 0.0, "apply_spec_augment": False, "classifier_proj_size": 16, "ctc_loss_reduction": "mean"}
SEAMLESS = {"speech_encoder_layers": 1, "encoder_layers": 1, "decoder_layers": 1, "t2u_encoder_layers": 1,
            "t2u_decoder_layers": 1, "speech_encoder_attention_heads": 4, "speech_encoder_intermediate_size": 48,
            "feature_projection_input_dim": 16, "t2u_vocab_size": 50, "adaptor_kernel_size": 4, "adaptor_stride": 4,
            "add_adapter": True, "conv_depthwise_kernel_size": 3}


def heard_classes(model_type: str, length: int = 1600, **overrides: Any) -> Callable[[], Trial]:
    """Five classes of waveforms."""

    def make() -> Trial:
        loss = lambda model, input_values, labels: model(input_values=input_values, labels=labels).loss
        model = build("AutoModelForAudioClassification", model_type, **WAVE | overrides)
        return Trial(model, loss, (noise(BATCH, length), classes()))

    return make


def connectionist(model_type: str, length: int = 1600, **overrides: Any) -> Callable[[], Trial]:
    """Text by connectionist temporal classification."""

    def make() -> Trial:
        loss = lambda model, input_values, labels: model(input_values=input_values, labels=labels).loss
        model = build("AutoModelForCTC", model_type, **WAVE | overrides)
        return Trial(model, loss, (noise(BATCH, length), ids(BATCH, 5)))

    return make


def transcription(model_type: str, features: tuple[int, ...], **overrides: Any) -> Callable[[], Trial]:
    """Spectrograms to text by an encoder and a decoder."""

    def make() -> Trial:
        loss = lambda model, input_features, labels: model(input_features=input_features, labels=labels).loss
        model = build("AutoModelForSpeechSeq2Seq", model_type, **overrides)
        return Trial(model, loss, (noise(BATCH, *features), ids(BATCH, 8)))

    return make


for model_type in "data2vec-audio hubert sew unispeech unispeech-sat wav2vec2 wav2vec2-conformer wavlm".split():
    entries.add(model_type, heard_classes(model_type))
entries.add("sew-d", heard_classes("sew-d", feature_layer_norm_eps=1e-5))
for model_type in "hubert wav2vec2 wavlm".split():
    entries.add(f"{model_type}-ctc", connectionist(model_type))
entries.add("whisper", transcription("whisper", (16, 64), num_mel_bins=16, max_source_positions=32))
entries.add("speech_to_text", transcription("speech_to_text", (64, 16), input_feat_per_channel=16, num_conv_layers=2,
                                            conv_channels=16, conv_kernel_sizes=[5, 5]))
entries.add("seamless_m4t", transcription("seamless_m4t", (32, 16), **SEAMLESS))


@entries.entry("moonshine")
def moonshine() -> Trial:
    loss = lambda model, input_values, labels: model(input_values=input_values, labels=labels).loss
    model = build("AutoModelForSpeechSeq2Seq", "moonshine", encoder_num_hidden_layers=1, decoder_num_hidden_layers=1,
                  encoder_num_attention_heads=4, decoder_num_attention_heads=4, encoder_num_key_value_heads=4,
                  decoder_num_key_value_heads=4)
    return Trial(model, loss, (noise(BATCH, 4000), ids(BATCH, 8)))


@entries.entry("audio-spectrogram-transformer")
def spectrogram_transformer() -> Trial:
    loss = lambda model, input_values, labels: model(input_values=input_values, labels=labels).loss
    model = build("AutoModelForAudioClassification", "audio-spectrogram-transformer", max_length=32, num_mel_bins=16,
                  patch_size=8, frequency_stride=8, time_stride=8)
    return Trial(model, loss, (noise(BATCH, 32, 16), classes()))


@entries.entry("whisper-classes")
def whisper_classes() -> Trial:
    loss = lambda model, input_features, labels: model(input_features=input_features, labels=labels).loss
    model = build("AutoModelForAudioClassification", "whisper", num_mel_bins=16, max_source_positions=32,
                  classifier_proj_size=16)
    return Trial(model, loss, (noise(BATCH, 16, 64), classes()))


@entries.entry("wav2vec2-bert")
def wav2vec2_bert() -> Trial:
    loss = lambda model, input_features, labels: model(input_features=input_features, labels=labels).loss
    model = build("AutoModelForAudioClassification", "wav2vec2-bert", feature_projection_input_dim=16,
                  apply_spec_augment=False, mask_time_prob=0.0, conv_depthwise_kernel_size=3, classifier_proj_size=16)
    return Trial(model, loss, (noise(BATCH, 32, 16), classes()))


@entries.entry("encodec")
def encodec() -> Trial:
    loss = lambda model, input_values: mean_square(model.encoder(input_values))
    model = build("AutoModel", "encodec", num_filters=4, upsampling_ratios=[4, 2], num_lstm_layers=1, codebook_size=16)
    return Trial(model, loss, (noise(BATCH, 1, 320),))


@entries.entry("univnet")
def univnet() -> Trial:
    loss = lambda model, features, wave: mean_square(model(input_features=features, noise_sequence=wave).waveforms)
    model = build("UnivNetModel", "univnet", model_in_channels=8, model_hidden_channels=8, num_mel_bins=16,
                  resblock_kernel_sizes=[3], resblock_stride_sizes=[4], resblock_dilation_sizes=[[1, 3]],
                  kernel_predictor_hidden_channels=8)
    return Trial(model, loss, (noise(BATCH, 12, 16), noise(BATCH, 12, 8)))
