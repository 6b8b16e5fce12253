"""Uses mlx-lm as anybody would and prints what came out as JSON; `test_mlx_lm.py` runs it on MLX and on Pellucid.

    python lm_program.py FOLDER
    python -m pellucid.mlx lm_program.py FOLDER

A tiny Llama is made from a configuration, with weights drawn by NumPy: the same in every process.
"""

import json
import os
import sys

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim
import numpy as np
from mlx.utils import tree_flatten
from mlx_lm.generate import BatchGenerator, generate_step, speculative_generate_step
from mlx_lm.models import cache as caches
from mlx_lm.models import llama
from mlx_lm.sample_utils import make_logits_processors, make_sampler
from mlx_lm.tuner.trainer import TrainingArgs, TrainingCallback, train
from mlx_lm.tuner.utils import linear_to_lora_layers
from mlx_lm.utils import load_model, quantize_model, save_model

VOCABULARY = 96
PROMPT = [3, 14, 15, 92, 65, 35, 89, 79, 32, 38]
CONFIGURATION = {
    "model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "intermediate_size": 128, "num_attention_heads": 2,
    "num_key_value_heads": 1, "rms_norm_eps": 1e-5, "vocab_size": VOCABULARY, "tie_word_embeddings": False,
    "rope_theta": 10000.0, "max_position_embeddings": 512,
}


def tiny(dtype=mx.float32, bits=None):
    """The Llama with its weights in the given type, or packed."""
    draw = np.random.default_rng(2)
    model = llama.Model(llama.ModelArgs.from_dict(CONFIGURATION))
    weights = [
        (name, mx.array((draw.normal(size=old.shape) * (0.25 if old.ndim > 1 else 0.1) + (old.ndim == 1)).astype(np.float32)))
        for name, old in sorted(tree_flatten(model.parameters()))
    ]
    model.load_weights([(name, weight.astype(dtype)) for name, weight in weights])
    if bits:
        nn.quantize(model, group_size=32, bits=bits)
    mx.eval(model.parameters())
    return model.eval()


def steps(model, count=24, prompt=PROMPT, **options):
    """The tokens, and for each the largest log-probabilities of where they came from."""
    tokens, best = [], []
    for token, logprobs in generate_step(mx.array(prompt), model, max_tokens=count, **options):
        tokens.append(int(token))
        best.append(mx.sort(logprobs.astype(mx.float32))[-8:].tolist())
    return {"tokens": tokens, "best": best}


def greedy():
    made = {name: steps(tiny(getattr(mx, name))) for name in ("float32", "float16", "bfloat16")}
    return {**made, "4 bits": steps(tiny(bits=4)), "4 bits of bfloat16": steps(tiny(mx.bfloat16, bits=4))}


def sampled():
    model, out = tiny(), {}
    for name, options in {
        "temperature": {"temp": 0.8}, "nucleus": {"temp": 1.0, "top_p": 0.7}, "k": {"temp": 1.2, "top_k": 7},
        "least": {"temp": 1.0, "min_p": 0.1}, "all": {"temp": 0.9, "top_p": 0.9, "min_p": 0.02, "top_k": 20},
    }.items():
        mx.random.seed(11)
        out[name] = steps(model, sampler=make_sampler(**options))
    mx.random.seed(12)
    changed = make_logits_processors({5: -4.0, 9: 1.5}, 1.2, 12, presence_penalty=0.3, frequency_penalty=0.2)
    out["penalties"] = steps(model, sampler=make_sampler(temp=0.7), logits_processors=changed)
    return out


def cached(folder):
    """Two turns of a conversation with one cache, which goes through a file between them."""
    model = tiny()
    kept = caches.make_prompt_cache(model)
    out = {"first": steps(model, 8, prompt_cache=kept)}
    path = os.path.join(folder, "cache.safetensors")
    caches.save_prompt_cache(path, kept, {"model": "tiny"})
    kept, metadata = caches.load_prompt_cache(path, return_metadata=True)
    out["metadata"], out["offset"] = metadata, kept[0].offset
    out["second"] = steps(model, 8, [7, 8, 9], prompt_cache=kept)
    out["trimmed"] = caches.trim_prompt_cache(kept, 5)
    out["third"] = steps(model, 8, [1], prompt_cache=kept)
    rotating = [caches.RotatingKVCache(max_size=16, keep=4) for _ in model.layers]
    out["rotating"] = steps(model, 24, prompt_cache=rotating)
    out["in parts"] = steps(model, 8, PROMPT * 4, prefill_step_size=7)
    return out


def packed_cache():
    return {
        f"{bits} bits from {start}": steps(tiny(), 16, kv_bits=bits, kv_group_size=32, quantized_kv_start=start)
        for bits, start in ((8, 0), (4, 12))
    }


def batched():
    """Prompts of different lengths that come and go."""
    model = tiny()
    generator = BatchGenerator(model, max_tokens=12, prefill_batch_size=2, completion_batch_size=4, prefill_step_size=4)
    prompts = [PROMPT, [5], [1, 2, 3], PROMPT[::-1] * 2, [40, 41]]
    numbers = generator.insert(prompts, max_tokens=[12, 5, 9, 12, 3])
    out = {number: {"tokens": [], "best": [], "end": None} for number in numbers}
    while responses := generator.next_generated():
        for r in responses:
            out[r.uid]["tokens"].append(int(r.token))
            out[r.uid]["best"].append(mx.sort(r.logprobs)[-8:].tolist())
            out[r.uid]["end"] = r.finish_reason
    generator.close()
    return [out[number] for number in numbers]


def drafted():
    """A model of few bits writes ahead, the whole one checks."""
    tokens = speculative_generate_step(mx.array(PROMPT), tiny(), tiny(bits=4), num_draft_tokens=3, max_tokens=16)
    return [[int(token), bool(draft)] for token, _, draft in tokens]


class Losses(TrainingCallback):
    def __init__(self):
        self.train, self.validation = [], []

    def on_train_loss_report(self, info):
        self.train.append([info["train_loss"], info["learning_rate"], info["trained_tokens"]])

    def on_val_loss_report(self, info):
        self.validation.append(info["val_loss"])


def trained(folder, model, layers, count, optimizer, dora=False, **options):
    """The losses of training and what it learnt, from sentences that count upwards."""
    np.random.seed(3)
    mx.random.seed(4)
    if layers:
        model.freeze()
        parameters = {"rank": 4, "scale": 8.0, "dropout": options.pop("dropout", 0.0)}
        linear_to_lora_layers(model, layers, parameters, use_dora=dora)
    draw = np.random.default_rng(8)
    data = [(list(range(s, s + n)), 2) for s, n in zip(draw.integers(0, 60, 24), draw.integers(6, 30, 24))]
    losses = Losses()
    arguments = TrainingArgs(
        batch_size=4, iters=count, val_batches=2, steps_per_report=1, steps_per_eval=10, steps_per_save=1000,
        adapter_file=os.path.join(folder, "adapters.safetensors"), max_seq_length=64, **options,
    )
    stdout, sys.stdout = sys.stdout, sys.stderr
    try:
        train(model, optimizer, data, data[:8], arguments, training_callback=losses)
    finally:
        sys.stdout = stdout
    learnt = mx.load(arguments.adapter_file)
    return {
        "losses": losses.train, "validation": losses.validation,
        "norms": {name: float(mx.sqrt(mx.sum(mx.square(learnt[name].astype(mx.float32))))) for name in sorted(learnt)},
        "after": steps(model.eval(), 8)["tokens"],
    }


def training(folder):
    return {
        "LoRA": trained(folder, tiny(), 2, 20, optim.Adam(5e-4)),
        "LoRA on 4 bits, with dropout": trained(folder, tiny(bits=4), 2, 6, optim.AdamW(1e-3), dropout=0.1),
        "DoRA, accumulated and recomputed": trained(
            folder, tiny(), 2, 6, optim.SGD(0.05, momentum=0.9), True, grad_checkpoint=True, grad_accumulation_steps=2),
        "everything": trained(folder, tiny(), 0, 5, optim.Adafactor(1e-3)),
    }


def converted(folder):
    """A model is saved, packed and loaded again."""
    path = os.path.join(folder, "model")
    model, configuration = quantize_model(tiny(mx.bfloat16), CONFIGURATION, 32, 4)
    save_model(path, model)
    with open(os.path.join(path, "config.json"), "w") as file:
        json.dump(configuration, file)
    from pathlib import Path

    loaded, read = load_model(Path(path))
    return {
        "configuration": read["quantization"], "files": sorted(os.listdir(path)),
        "types": {name: str(value.dtype).split(".")[-1] for name, value in sorted(tree_flatten(loaded.parameters()))},
        "steps": steps(loaded, 12),
    }


def main():
    folder = sys.argv[1]
    out = {
        "greedy": greedy(), "sampled": sampled(), "cached": cached(folder), "packed cache": packed_cache(), "batched": batched(),
        "drafted": drafted(), "training": training(folder), "converted": converted(folder),
    }
    with open(os.path.join(folder, "out.json"), "w") as file:
        json.dump({"package": mx.array.__module__, "nn": nn.Module.__module__, **out}, file)
    sys.stdout.flush()
    # mlx may crash when its threads end.
    os._exit(0)


if __name__ == "__main__":
    main()
