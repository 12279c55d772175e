"""Small graphs in the formats of the world's own networks, with random weights; and pictures for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
from numpy.typing import NDArray
from onnx import numpy_helper

from weakspot.world.scene import ATTRIBUTES

#: Of the toy captioner: layers, heads, numbers per head, places in the memory.
LAYERS, HEADS, D, M = 1, 2, 4, 3
TOKENS = [
    *("<pad>", "<bos>", "<eos>", "<unknown>", ".", "a", "behind", "bee", "flower", "fly", "is", "it", "net"),
    *("night", "on", "photo", "of", "#w", "#x"),
]
VALUES = sum(len(values) for values in ATTRIBUTES.values())


def pictures(n: int, *, size: int = 64, seed: int = 0) -> list[NDArray[np.uint8]]:
    """Noise in colours that differ from picture to picture."""
    random = np.random.default_rng(seed)
    tints = random.integers(1, 256, (n, 1, 1, 3))
    return list((random.random((n, size, size, 3)) * tints).astype(np.uint8))


def write(path: Path, text: str, **initial: Any) -> Path:
    """A graph from ONNX's own text form, with arrays as initial values."""
    model = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["": 17]> {text}')
    for name, value in initial.items():
        model.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())
    return path


def linear(path: Path, random: np.random.Generator, **outputs: int) -> Path:
    """Images to linear functions of their mean colours, one output for each name with its width."""
    gives = ", ".join(f"float[n,{width}] {name}" for name, width in outputs.items())
    nodes = " ".join(f"{name} = Gemm(mean, w_{name}, b_{name})" for name in outputs)
    return write(
        path,
        f"""g (float[n,3,64,64] image) => ({gives}) {{
            mean = ReduceMean<axes=[2,3],keepdims=0>(image)
            {nodes}
        }}""",
        **{f"w_{name}": random.normal(0, 9, (3, k)).astype(np.float32) for name, k in outputs.items()},
        **{f"b_{name}": random.normal(0, 1, k).astype(np.float32) for name, k in outputs.items()},
    )


def classifier(path: Path, seed: int = 0) -> Path:
    return linear(path, np.random.default_rng(seed), logits=16)


def fair(path: Path, seed: int = 0, *, values: int = VALUES) -> Path:
    """The logits come last, so that taking the first output would be noticed."""
    return linear(path, np.random.default_rng(seed), attributes=values, features=8, logits=16)


def words(folder: Path) -> None:
    (folder / "words.json").write_text(json.dumps(TOKENS))


def encoder(folder: Path, seed: int = 0, *, width: int = 256, text_width: int = 256) -> None:
    random = np.random.default_rng(seed)
    write(
        folder / "encoder-image.onnx",
        f"""g (float[n,3,64,64] image) => (float[n,{width}] vector) {{
            mean = ReduceMean<axes=[2,3],keepdims=0>(image)
            long = MatMul(mean, w)
            vector = LpNormalization<axis=1,p=2>(long)
        }}""",
        w=random.normal(size=(3, width)).astype(np.float32),
    )
    write(
        folder / "encoder-text.onnx",
        f"""g (int64[n,l] tokens) => (float[n,{text_width}] vector) {{
            shape = Shape(tokens)
            l = Gather(shape, one)
            places = Range(zero, l, one)
            said = Gather(table, tokens)
            where = Gather(place, places)
            x = Mul(said, where)
            there = Greater(tokens, zero)
            mask = Cast<to=1>(there)
            column = Unsqueeze(mask, last)
            seen = Mul(x, column)
            sum = ReduceSum<keepdims=0>(seen, axis)
            long = MatMul(sum, w)
            vector = LpNormalization<axis=1,p=2>(long)
        }}""",
        table=random.normal(size=(len(TOKENS), 8)).astype(np.float32),
        place=random.normal(size=(112, 8)).astype(np.float32),
        w=random.normal(size=(8, text_width)).astype(np.float32),
        one=np.int64(1),
        zero=np.int64(0),
        last=np.array([2]),
        axis=np.array([1]),
    )
    words(folder)


def captioner(folder: Path, seed: int = 0, *, ends: float = 1.0, vocabulary: int = len(TOKENS)) -> None:
    """One layer of causal attention with a past, and one of attention to the picture.

    `ends` is added to the logit of the end.
    """
    random = np.random.default_rng(seed)
    width = HEADS * D

    def some(*shape: int) -> NDArray[np.float32]:
        return random.normal(0, 0.7, shape).astype(np.float32)

    kept = f"{LAYERS},2,{HEADS}"
    write(
        folder / "captioner-image.onnx",
        f"""g (float[n,3,64,64] image) => (float[n,{kept},{M},{D}] memory) {{
            mean = ReduceMean<axes=[2,3],keepdims=0>(image)
            row = MatMul(mean, w)
            memory = Reshape(row, shape)
        }}""",
        w=4 * some(3, LAYERS * 2 * M * width),
        shape=np.array([0, LAYERS, 2, HEADS, M, D]),
    )
    bias = some(vocabulary)
    bias[2] += ends
    write(
        folder / "captioner-words.onnx",
        f"""g (int64[n,t] tokens, float[n,{kept},p,{D}] past, float[n,{kept},m,{D}] memory)
            => (float[n,t,{vocabulary}] logits, float[n,{kept},q,{D}] present) {{
            past_shape = Shape(past)
            p = Gather(past_shape, four)
            tokens_shape = Shape(tokens)
            t = Gather(tokens_shape, one)
            q = Add(p, t)
            places = Range(p, q, one)
            said = Gather(table, tokens)
            where = Gather(place, places)
            x = Add(said, where)
            ask_flat = MatMul(x, w_ask)
            ask_split = Reshape(ask_flat, split)
            ask = Transpose<perm=[0,2,1,3]>(ask_split)
            kv_flat = MatMul(x, w_kv)
            kv_split = Reshape(kv_flat, split_kv)
            kv = Transpose<perm=[0,2,3,1,4]>(kv_split)
            kv_layer = Unsqueeze(kv, axis)
            present = Concat<axis=4>(past, kv_layer)
            all = Squeeze(present, axis)
            k = Gather<axis=1>(all, zero)
            v = Gather<axis=1>(all, one)
            k_turned = Transpose<perm=[0,1,3,2]>(k)
            free = MatMul(ask, k_turned)
            asking = Unsqueeze(places, axis)
            asked = Range(zero, q, one)
            later = Greater(asked, asking)
            causal = Where(later, never, free)
            weight = Softmax<axis=-1>(causal)
            mixed = MatMul(weight, v)
            mixed_back = Transpose<perm=[0,2,1,3]>(mixed)
            heard = Reshape(mixed_back, join)
            y = Add(x, heard)
            look_flat = MatMul(y, w_look)
            look_split = Reshape(look_flat, split)
            look = Transpose<perm=[0,2,1,3]>(look_split)
            picture = Squeeze(memory, axis)
            pk = Gather<axis=1>(picture, zero)
            pv = Gather<axis=1>(picture, one)
            pk_turned = Transpose<perm=[0,1,3,2]>(pk)
            near = MatMul(look, pk_turned)
            near_weight = Softmax<axis=-1>(near)
            looked = MatMul(near_weight, pv)
            looked_back = Transpose<perm=[0,2,1,3]>(looked)
            seen = Reshape(looked_back, join)
            z = Add(y, seen)
            raw = MatMul(z, w_out)
            logits = Add(raw, bias)
        }}""",
        table=some(vocabulary, width),
        place=some(112, width),
        w_ask=some(width, width),
        w_kv=some(width, 2 * width),
        w_look=some(width, width),
        w_out=some(width, vocabulary),
        bias=bias,
        never=np.float32(-1e9),
        zero=np.int64(0),
        one=np.int64(1),
        four=np.int64(4),
        axis=np.array([1]),
        split=np.array([0, 0, HEADS, D]),
        split_kv=np.array([0, 0, 2, HEADS, D]),
        join=np.array([0, 0, width]),
    )
    words(folder)
