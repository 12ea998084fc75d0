"""Text encoders of transformers, with heads of five kinds: masked tokens, classes of sequences and of tokens, answers
within a text, multiple choice."""

from __future__ import annotations

from .base import Entries
from .hugging_face import masked, multiple_choice, questions, sequence_classes, token_classes

entries = Entries(__name__)

for model_type in """
    albert bert big_bird camembert convbert data2vec-text deberta deberta-v2 distilbert electra ernie esm eurobert
    flaubert fnet funnel gte ibert jina_embeddings_v3 layoutlm longformer megatron-bert mobilebert modernbert mpnet
    mra nomic_bert nystromformer rembert roberta roberta-prelayernorm roformer squeezebert tapas xlm xlm-roberta
    xlm-roberta-xl yoso
""".split():
    entries.add(f"{model_type}-mlm", masked(model_type))

for model_type in "albert bert deberta-v2 distilbert electra funnel gpt2 llama modernbert roberta xlnet".split():
    entries.add(f"{model_type}-sequence-classes", sequence_classes(model_type))
for model_type in "bert deberta-v2 gpt2 layoutlm roberta".split():
    entries.add(f"{model_type}-token-classes", token_classes(model_type))
for model_type in "bert distilbert electra splinter".split():
    entries.add(f"{model_type}-answers", questions(model_type))
for model_type in "bert electra roberta".split():
    entries.add(f"{model_type}-multiple-choice", multiple_choice(model_type))
entries.add("canine-sequence-classes", sequence_classes("canine", num_hash_buckets=64, local_transformer_stride=8,
                                                        max_position_embeddings=64))
entries.add("luke-mlm", masked("luke", entity_vocab_size=20, entity_emb_size=16))
entries.add("roc_bert-mlm", masked("roc_bert", pronunciation_vocab_size=20, pronunciation_embed_dim=16,
                                   shape_vocab_size=20, shape_embed_dim=16))
entries.add("xmod-mlm", masked("xmod", languages=["en_XX"], default_language="en_XX"))
