#!/usr/bin/env python3
"""Fixtures of the families qwen2 and gemma3, made in the way of make_fixtures.py, the script that made those of the other families. This
script imports it; it is not part of this repository.

    make_family_fixtures.py --script PATH/make_fixtures.py --llama-cpp PATH --out DIR [--only NAME[,NAME]]

Writes OUT/NAME/ (hf/, model-f32.gguf, golden.safetensors, tok.json, chat.json, check.json) and OUT/REPORT.md for

    qwen2        biases on q, k and v; GQA; untied head; padded vocabulary; NFC tokenizer
    gemma3       12 layers, the form of the 270M to 12B releases (score scale = head size ^ -0.5)
    gemma3-27b   62 layers, the form of the 27B release: the score scale is (hidden / heads) ^ -0.5 instead.
                 A GGUF has no key for that scale; llama.cpp takes it from the layer count, so a fixture
                 with another count could not agree with its own GGUF.

Needs what make_fixtures.py needs: torch, transformers 5.24, tokenizers, safetensors, sentencepiece, numpy and
llama-cpp-python, and llama.cpp's tree from the source package of llama-cpp-python 0.3.36.
"""
from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any


def load_script(path: Path):
    spec = importlib.util.spec_from_file_location("make_fixtures", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["make_fixtures"] = module
    spec.loader.exec_module(module)
    return module


# --------------------------------------------------------------------------------------------------
# Gemma 3's tokenizer: a SentencePiece BPE model (tokenizer.model) and the tokenizer.json made from it
# --------------------------------------------------------------------------------------------------

GEMMA3_SPECIAL = ("<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>", "<end_of_turn>")
#: user-defined pieces, in the order of the release: not special, but found before any merge
GEMMA3_USER = (["<mask>", "[multimodal]", "<unused0>", "<unused1>", "<start_of_turn>", "<end_of_turn>"]
               + ["\n" * n for n in range(1, 9)] + ["▁" * n for n in range(2, 9)]
               + ["<table>", "</table>", "<b>", "</b>", "<code>", "</code>"])

#: own wording of what Gemma 3's template does: the system text goes in front of the first user message
GEMMA3_TEMPLATE = """\
{{- bos_token }}
{%- set ns = namespace(prefix='') %}
{%- if messages[0]['role'] == 'system' %}
    {%- set ns.prefix = messages[0]['content'] ~ '\\n\\n' %}
    {%- set turns = messages[1:] %}
{%- else %}
    {%- set turns = messages %}
{%- endif %}
{%- for m in turns %}
    {%- if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception('user and assistant must take turns') }}
    {%- endif %}
    {{- '<start_of_turn>' ~ ('model' if m['role'] == 'assistant' else m['role']) ~ '\\n' }}
    {{- (ns.prefix if loop.first else '') ~ (m['content'] | trim) ~ '<end_of_turn>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}
"""

GEMMA3_STRINGS = ["<start_of_turn>user\nhey<end_of_turn>\n<start_of_turn>model\n", "a" + "\n" * 8 + "b" + "\n" * 9 + "c" + "\n" * 19,
                  "x" + " " * 7 + "y" + " " * 8 + "z" + " " * 9 + "w" + " " * 13 + "v", "   \n  \n\n    <b>bold</b> <code>x  = 1</code>",
                  "<table>\n<b>1</b>\n</table>", "<start_of_turn> user", "a ▁ b", "tab\tand  two\t\ttabs"]


def gemma3_tokenizer(mf, kind, texts: list[str], vocab_size: int, hf: Path) -> dict[str, Any]:
    """tokenizer.model and tokenizer.json of equal meaning; the merges are all pairs of pieces that make a piece."""
    import sentencepiece as spm
    from transformers.tokenization_utils_base import generate_merges

    lines = [ln for t in texts for ln in t.split("\n") if ln.strip()]
    with open(hf / "tokenizer.model", "wb") as f:
        spm.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_writer=f, model_type="bpe", vocab_size=vocab_size, byte_fallback=True,
            normalization_rule_name="identity", add_dummy_prefix=False, remove_extra_whitespaces=False, split_digits=True,
            character_coverage=0.9995, num_threads=1, max_sentence_length=20000, minloglevel=2,
            pad_id=0, eos_id=1, bos_id=2, unk_id=3, pad_piece="<pad>", eos_piece="<eos>", bos_piece="<bos>", unk_piece="<unk>",
            user_defined_symbols=GEMMA3_USER)
    sp = spm.SentencePieceProcessor(model_file=str(hf / "tokenizer.model"))
    vocab = {sp.id_to_piece(i): i for i in range(sp.vocab_size())}
    missing = [t for t in GEMMA3_USER if t not in vocab]
    assert len(vocab) == vocab_size and not missing, (len(vocab), missing)

    runs = [t for t in GEMMA3_USER if set(t) == {"▁"}]
    plain = [p for p, i in vocab.items() if not (sp.is_control(i) or sp.is_unknown(i) or sp.is_byte(i) or p in GEMMA3_USER)]
    scores = {p: 0.0 for p in runs} | {p: sp.get_score(vocab[p]) for p in plain}
    merges = generate_merges({p: vocab[p] for p in runs + plain}, scores)
    added = [mf._added_entry(vocab[t], t, t in kind.special) for t in sorted({*kind.special, *GEMMA3_USER}, key=vocab.get)]
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
            "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
            "pre_tokenizer": {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False},
            "post_processor": mf._bos_template(kind, vocab),
            "decoder": {"type": "Sequence", "decoders": [
                {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}]},
            "model": {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
                      "end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": True, "ignore_merges": False,
                      "vocab": vocab, "merges": [list(m) for m in merges]}}


def write_gemma3_tokenizer(mf, vocab_size: int, hf: Path, texts: list[str]) -> dict[str, int]:
    kind = mf.TOKENIZERS["gemma3"]
    js = gemma3_tokenizer(mf, kind, texts, vocab_size, hf)
    (hf / "tokenizer.json").write_text(json.dumps(js, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    config = {"tokenizer_class": "PreTrainedTokenizerFast",
              "added_tokens_decoder": {str(e["id"]): {k: v for k, v in e.items() if k != "id"} for e in js["added_tokens"]},
              "bos_token": kind.bos, "eos_token": kind.eos, "pad_token": kind.pad, "unk_token": "<unk>",
              "additional_special_tokens": list(kind.special), "clean_up_tokenization_spaces": False,
              "model_max_length": 4096, "add_bos_token": True, "add_eos_token": False}
    (hf / "tokenizer_config.json").write_text(json.dumps(config, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    (hf / "chat_template.jinja").write_text(GEMMA3_TEMPLATE, encoding="utf-8")
    ids = {e["content"]: e["id"] for e in js["added_tokens"]}
    ids.update(bos=ids[kind.bos], eos=ids[kind.eos], pad=ids[kind.pad], n=vocab_size)
    return ids


# --------------------------------------------------------------------------------------------------
# The families
# --------------------------------------------------------------------------------------------------

def recipes(mf) -> dict[str, Any]:
    import transformers as T

    def qwen2(ids):
        return T.Qwen2Config(hidden_size=96, intermediate_size=160, num_hidden_layers=5, num_attention_heads=6, num_key_value_heads=2,
                             rms_norm_eps=1e-3, max_position_embeddings=1024, tie_word_embeddings=False, use_sliding_window=False,
                             rope_parameters={"rope_type": "default", "rope_theta": 1e6}, **mf._ids(ids, 1088))

    def gemma3(ids, large: bool):
        kw = dict(hidden_size=64, intermediate_size=112, num_hidden_layers=12, num_attention_heads=4, num_key_value_heads=2,
                  head_dim=32, query_pre_attn_scalar=32, rms_norm_eps=1e-3)
        if large:
            kw.update(hidden_size=48, intermediate_size=48, num_hidden_layers=62, head_dim=24, query_pre_attn_scalar=12, rms_norm_eps=3e-4)
        return T.Gemma3TextConfig(
            **kw, sliding_window=32, max_position_embeddings=1024, tie_word_embeddings=True, hidden_activation="gelu_pytorch_tanh",
            rope_parameters={"sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
                             "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6}},
            **{**mf._ids(ids, ids["n"]), "eos_token_id": [ids["eos"], ids["<end_of_turn>"]]})

    return {
        "qwen2": mf.Recipe("qwen2", "qwen3", 1050, qwen2, "Qwen2ForCausalLM", padded_vocab=1088,
                           covers="q/k/v biases, GQA 3:1, half-split rope, untied head, padded vocabulary, NFC tokenizer (pre qwen2)"),
        "gemma3": mf.Recipe("gemma3", "gemma3", 1200, lambda ids: gemma3(ids, False), "Gemma3ForCausalLM", tied=True,
                            covers="norms that add one (folded in the GGUF), q/k norms, post norms, sliding window 32 with every 6th layer full, "
                                   "two rope bases, linear scaling by 8 on full layers, embeddings * sqrt(H), tanh GELU, head size != H/heads, "
                                   "SentencePiece BPE with user-defined pieces"),
        "gemma3-27b": mf.Recipe("gemma3", "gemma3", 1200, lambda ids: gemma3(ids, True), "Gemma3ForCausalLM", tied=True,
                                covers="as gemma3 with 62 layers and score scale (H/heads)^-0.5 with head size != H/heads, as the 27B release; "
                                       "config.json in the published form (rope_theta, rope_local_base_freq, rope_scaling, sliding_window_pattern)"),
    }


def published_config(hf: Path) -> None:
    """config.json as Gemma 3 was released, before transformers 5: pattern and rope settings as plain keys."""
    path = hf / "config.json"
    c = json.loads(path.read_text())
    rope = c.pop("rope_parameters")
    c.pop("layer_types")
    c.pop("_sliding_window_pattern", None)
    c.update(rope_theta=rope["full_attention"]["rope_theta"], rope_local_base_freq=rope["sliding_attention"]["rope_theta"],
             rope_scaling={"rope_type": "linear", "factor": rope["full_attention"]["factor"]}, sliding_window_pattern=6)
    path.write_text(json.dumps(c, indent=2, sort_keys=True) + "\n")


def extend(mf) -> None:
    """Teach the imported script Gemma 3's tokenizer, its strings, its configuration and its GELU."""
    mf.TOKENIZERS["gemma3"] = mf.TokenizerKind("default", GEMMA3_SPECIAL, bos="<bos>", eos="<eos>", pad="<pad>", style="gemma3")
    write_tokenizer, tokenizer_goldens = mf.write_tokenizer, mf.tokenizer_goldens
    write_checkpoint, alternatives, nasty = mf.write_checkpoint, mf.alternatives, mf.NASTY

    def own_write_tokenizer(kind, vocab_size, hf, texts, prefix_space):
        if kind == "gemma3":
            return write_gemma3_tokenizer(mf, vocab_size, hf, texts)
        return write_tokenizer(kind, vocab_size, hf, texts, prefix_space)

    def own_tokenizer_goldens(kind, hf, out):
        mf.NASTY = nasty + GEMMA3_STRINGS if kind == "gemma3" else nasty
        tokenizer_goldens(kind, hf, out)

    def own_write_checkpoint(recipe, model, mtp, hf):
        plain = write_checkpoint(recipe, model, mtp, hf)
        if recipe.arch == "gemma3" and model.config.num_hidden_layers == 62:
            published_config(hf)
        return plain

    def own_alternatives(opt, recipe, plain, hf, out):
        # llama.cpp's GELU table concerns gemma3 as it does gemma4
        return alternatives(opt, dataclasses.replace(recipe, arch="gemma4") if recipe.arch == "gemma3" else recipe, plain, hf, out)

    mf.write_tokenizer, mf.tokenizer_goldens = own_write_tokenizer, own_tokenizer_goldens
    mf.write_checkpoint, mf.alternatives = own_write_checkpoint, own_alternatives


def main() -> None:
    p = argparse.ArgumentParser(description="Make the fixtures of qwen2 and gemma3.")
    p.add_argument("--script", type=Path, required=True, help="make_fixtures.py, the script that made the other families' fixtures")
    p.add_argument("--llama-cpp", type=Path, required=True, help="a llama.cpp source tree (its converter is used)")
    p.add_argument("--out", type=Path, required=True)
    p.add_argument("--only", default="")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--sensitivity", action="store_true", help="also measure how much each kind of weight matters")
    opt = p.parse_args()
    opt.variant = "a"
    mf = load_script(opt.script)
    extend(mf)
    import torch
    torch.set_num_threads(1)
    table = recipes(mf)
    opt.out.mkdir(parents=True, exist_ok=True)
    texts = mf.corpus(opt.llama_cpp)
    for name in [x for x in opt.only.split(",") if x] or list(table):
        mf.make(opt, name, table[name], texts)
        mf.report(opt.out)


if __name__ == "__main__":
    main()
