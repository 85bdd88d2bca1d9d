#!/usr/bin/env python3
"""Writes tests/data/fixtures/spm: two tiny SentencePiece vocabularies and the ids that SentencePiece gives.

  vocab.gguf, tok.json                  BPE with byte fallback, a user-defined token and the dummy prefix (model `llama`)
  vocab-unigram.gguf, tok-unigram.json  Unigram with normalisation rules and no byte fallback (model `t5`)

Trained on the text below, so that a run needs nothing but the packages sentencepiece, protobuf and gguf.
"""

import io
import json
import pathlib

import gguf
import sentencepiece

OUT = pathlib.Path(__file__).resolve().parent.parent / "tests/data/fixtures/spm"

SENTENCES = """
The river carries the snow of the mountains to the sea, and the sea carries nothing back.
On each terrace the farmers grow what the height allows: rice below, barley above, and tea between them.
A field on a slope is work twice over: once to build the wall, and once more to keep the water behind it.
When the rain comes early, the walls are watched at night; when it comes late, the channels are opened by hand.
The children count the steps from the village to the spring: one hundred and twenty-four up, the same number down.
She wrote the number 1234 on the door, then 5678, then 90, and nobody asked her why.
Prices rose by 3.5 percent in 2019, by 4.25 percent in 2020, and by 10 percent in the year after that.
Der Fluss traegt den Schnee der Berge ins Meer, und das Meer gibt nichts zurueck.
Die Mauer hält das Wasser, und wer die Mauer baut, der hält die Mauer auch im Winter für nötig.
La rivière porte la neige des montagnes à la mer, et la mer ne rend rien à personne.
El río lleva la nieve de las montañas al mar, y el mar no devuelve nada a nadie.
for (int i = 0; i < count; ++i) { total += values[i] * weights[i]; }
def area(width, height): return width * height
if (name == "terrace") { return open(name, "read"); }
What is above must hold, what is below must drain, and what is between must grow.
""".strip().splitlines()

TEXTS = [
    "", "a", " a", "  a", "a ", " ", "   ", "\n", "a\n\nb", "\tx", "The river", "the rivers and the terraces",
    "The  river   with    spaces", "Die Mauer hält das Wasser", "La rivière porte la neige", "montañas y río",
    "1234567890 3.14159 1,000", "x=1;y=22;z=333", "for (int i = 0; i < n; ++i) {}", "日本語 text", "😀 smile", "Привет",
    "a\u0001b", "e\u0301 combining", "ﬁ ligature ① ２", "\u00a0nbsp\u3000wide", "naïve coöperate",
    "line\r\nbreak", "▁ literal", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "the" * 40, "unbelievable terracesterracesterraces", "!!!???...---", "trailing space  ", "<x>", "\ufb01",
]
USER_DEFINED_TEXTS = ["<|mark|>", "<|mark|>user", " <|mark|> user", "a<|mark|>b", "a <|mark|> b", "<|mark|><|mark|>", "<|mark", "the <|mark|>river<|mark|>"]


def train(**options):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES * 4), model_writer=model, minloglevel=2, num_threads=1, **options)
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue()), model.getvalue()


def normalizer_of(model):
    from sentencepiece import sentencepiece_model_pb2
    proto = sentencepiece_model_pb2.ModelProto.FromString(model)
    return proto.normalizer_spec


def token_type(processor, i):
    if processor.is_unknown(i):
        return gguf.TokenType.UNKNOWN
    if processor.is_control(i):
        return gguf.TokenType.CONTROL
    if processor.is_unused(i):
        return gguf.TokenType.UNUSED
    if processor.is_byte(i):
        return gguf.TokenType.BYTE
    if processor.id_to_piece(i) == "<|mark|>":
        return gguf.TokenType.USER_DEFINED
    return gguf.TokenType.NORMAL


def write(suffix, model_name, processor, model, texts):
    spec = normalizer_of(model)
    size = processor.get_piece_size()
    writer = gguf.GGUFWriter(OUT / f"vocab{suffix}.gguf", "llama")
    writer.add_tokenizer_model(model_name)
    writer.add_token_list([processor.id_to_piece(i).encode() for i in range(size)])
    writer.add_token_scores([processor.get_score(i) for i in range(size)])
    writer.add_token_types([token_type(processor, i) for i in range(size)])
    writer.add_unk_token_id(processor.unk_id())
    writer.add_bos_token_id(processor.bos_id())
    writer.add_eos_token_id(processor.eos_id())
    writer.add_add_space_prefix(spec.add_dummy_prefix)
    writer.add_remove_extra_whitespaces(spec.remove_extra_whitespaces)
    if spec.precompiled_charsmap:
        writer.add_precompiled_charsmap(spec.precompiled_charsmap)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()

    golden = []
    for text in texts:
        ids = processor.encode(text)
        # An unknown token has no text here; SentencePiece prints a question mark for it.
        known = [i for i in ids if i != processor.unk_id()]
        if known == ids:
            decoded = processor.decode(ids)
        else:
            decoded = "".join(processor.id_to_piece(i) for i in known).replace("▁", " ").removeprefix(" ")
        golden.append({"text": text, "ids": ids, "decoded": decoded})
    (OUT / f"tok{suffix}.json").write_text(json.dumps(golden, ensure_ascii=False, indent=0) + "\n")


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    write("", "llama", *train(model_type="bpe", vocab_size=640, byte_fallback=True, character_coverage=0.999,
                              normalization_rule_name="identity", remove_extra_whitespaces=False,
                              user_defined_symbols=["<|mark|>"], split_digits=True), TEXTS + USER_DEFINED_TEXTS)
    rules = OUT / "rules.tsv"
    rules.write_text("FB01\t66 69\n2460\t31\nFF12\t32\nA0\t20\n3000\t20\n65 301\tE9\nD A\t20\n9\t20\nA\t20\nD\t20\n1\t\n")
    # A text that begins with a space or holds literal U+2581 is normalised differently by tokenizer.json, the reference.
    plain = [t for t in TEXTS if "▁" not in t]
    write("-unigram", "t5", *train(model_type="unigram", vocab_size=300, normalization_rule_tsv=str(rules),
                                   hard_vocab_limit=False), plain)
    rules.unlink()


if __name__ == "__main__":
    main()
