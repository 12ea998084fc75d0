"""Encoder-decoders of transformers, from token ids to labels of their own."""

from __future__ import annotations

from .base import Entries
from .hugging_face import translation

entries = Entries(__name__)

for model_type in """
    bart bigbird_pegasus blenderbot blenderbot-small fsmt longt5 m2m_100 marian mbart mt5 mvp pegasus pegasus_x plbart
    prophetnet t5 t5gemma umt5
""".split():
    entries.add(f"{model_type}-seq2seq", translation(model_type))
entries.add("led-seq2seq", translation("led", max_encoder_position_embeddings=64, max_decoder_position_embeddings=64,
                                       attention_window=8))
entries.add("t5-gated-gelu", translation("t5", feed_forward_proj="gated-gelu", tie_word_embeddings=False))
