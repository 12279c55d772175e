"""`diffusers:` on tiny pipelines made here, with random weights and every part that a real one has."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from weakspot.cli import run as cli
from weakspot.core import MODELS, SOURCES, Generator, Hypothesis, WeakspotError
from weakspot.models.compute import choose_device, choose_dtype, free_memory, out_of_memory
from weakspot.models.diffusers.folder import check_digests
from weakspot.models.diffusers.loading import fitting_batch, lay_out, load_pipeline
from weakspot.models.diffusers.pipeline import DiffusersGenerator
from weakspot.models.hf.loading import quiet, sha256
from weakspot.testing import ContractError, check_generator, check_source

LIBRARIES = ("torch", "diffusers", "transformers", "safetensors")
pytestmark = pytest.mark.skipif(
    not all(map(find_spec, LIBRARIES)), reason="needs weakspot[hf]; pip install -c constraints.txt"
)
UNET = "unet/diffusion_pytorch_model.safetensors"
TEXT = "text_encoder/model.safetensors"
PROMPTS = ["a photo of a fly.", "a bee on a yellow flower in the snow at night.", ""]
SEEDS = [3, 2**62 + 1, 0]


def library(name: str) -> Any:
    """Untyped, so that mypy says the same where it is not installed."""
    return import_module(name)


def build(folder: Path, *, flow: bool = False, checker: bool = False) -> Path:
    """A Stable Diffusion of 32 pixels with seeded weights, saved as diffusers saves it."""
    with quiet():
        torch, diffusers, transformers = map(library, ("torch", "diffusers", "transformers"))
        torch.manual_seed(5)
        words = [chr(c) for c in range(33, 127)]
        words = [*words, *(f"{w}</w>" for w in words), "fl", "fly</w>", "<|startoftext|>", "<|endoftext|>"]
        spelling = folder.parent / f"{folder.name}-words"
        spelling.mkdir()
        (spelling / "vocab.json").write_text(json.dumps({word: i for i, word in enumerate(words)}))
        (spelling / "merges.txt").write_text("#version: 0.2\nf l\nfl y</w>\n")
        scheduler = (
            diffusers.DPMSolverMultistepScheduler(
                use_flow_sigmas=True, prediction_type="flow_prediction", flow_shift=1.0
            )
            if flow
            else diffusers.DDIMScheduler()
        )
        pipe = diffusers.StableDiffusionPipeline(
            vae=diffusers.AutoencoderKL(
                block_out_channels=(16, 32),
                down_block_types=("DownEncoderBlock2D",) * 2,
                up_block_types=("UpDecoderBlock2D",) * 2,
                norm_num_groups=8,
                sample_size=32,
            ),
            text_encoder=transformers.CLIPTextModel(
                transformers.CLIPTextConfig(
                    vocab_size=len(words),
                    hidden_size=32,
                    intermediate_size=48,
                    num_hidden_layers=2,
                    num_attention_heads=4,
                    bos_token_id=len(words) - 2,
                    eos_token_id=len(words) - 1,
                )
            ),
            tokenizer=transformers.CLIPTokenizer(
                str(spelling / "vocab.json"), str(spelling / "merges.txt"), model_max_length=77
            ),
            unet=diffusers.UNet2DConditionModel(
                block_out_channels=(16, 32),
                layers_per_block=1,
                sample_size=16,
                down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
                up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
                cross_attention_dim=32,
                attention_head_dim=8,
                norm_num_groups=8,
            ),
            scheduler=scheduler,
            safety_checker=_checker() if checker else None,
            feature_extractor=transformers.CLIPImageProcessor(size=32, crop_size=32) if checker else None,
            requires_safety_checker=checker,
        )
        for name, parameter in pipe.unet.named_parameters():
            if "attn2" in name:  # untrained, it would hardly listen to the words
                parameter.data *= 10
        pipe.save_pretrained(folder)
    return folder


def _checker() -> Any:
    torch, transformers = library("torch"), library("transformers")
    small = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    checker = library("diffusers.pipelines.stable_diffusion").StableDiffusionSafetyChecker(
        transformers.CLIPConfig(
            text_config=small, vision_config=small | {"image_size": 32, "patch_size": 16}, projection_dim=8
        )
    )
    for name, parameter in checker.named_parameters():
        torch.nn.init.normal_(parameter, std=0.5)
        if name.endswith("embeds_weights"):
            torch.nn.init.constant_(parameter, -2.0)  # below every cosine, so each picture is objected to
    return checker


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("sd") / "sd")


@pytest.fixture(scope="session")
def flow_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("flow") / "flow", flow=True)


@pytest.fixture(scope="session")
def generator(folder: Path) -> DiffusersGenerator:
    """Not to be changed; `make` gives one that may be."""
    return DiffusersGenerator(folder, device="cpu", steps=2, guidance=2.0)


@pytest.fixture
def make(folder: Path) -> Callable[..., DiffusersGenerator]:
    usual: dict[str, Any] = {"device": "cpu", "steps": 2, "guidance": 2.0}
    return lambda **options: DiffusersGenerator(folder, **(usual | options))


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    """The folder, to be broken."""
    return Path(shutil.copytree(folder, tmp_path / "copy"))


def refused(path: Path | str, **options: Any) -> WeakspotError:
    with pytest.raises(WeakspotError) as caught:
        DiffusersGenerator(path, device="cpu", **options)
    assert caught.value.fix
    assert "\n" not in caught.value.what
    return caught.value


def alter(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the tensors of a safetensors file."""
    safetensors = library("safetensors.numpy")
    tensors = safetensors.load_file(path)
    change(tensors)
    safetensors.save_file(tensors, path, metadata={"format": "pt"})


def edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


# -- the contract ---------------------------------------------------------------------------------


def test_the_contract_with_the_pipelines_own_sampler(generator: DiffusersGenerator) -> None:
    assert isinstance(generator, Generator)
    pictures = check_generator(generator, PROMPTS)
    assert {p.shape for p in pictures} == {(32, 32, 3)}
    assert all(p.std() > 5 for p in pictures)
    same_seed = generator.generate(PROMPTS, [1] * 3)
    assert len({p.tobytes() for p in same_seed}) == 3  # the words matter


def test_the_contract_with_flow_sigmas_and_a_batch(flow_folder: Path) -> None:
    generator = DiffusersGenerator(flow_folder, device="cpu", steps=3, guidance=2.0, batch=4)
    check_generator(generator, PROMPTS)
    assert generator.batch == 4


@pytest.mark.parametrize("batch", [1, 2])
def test_samplers_with_noise_of_their_own_keep_the_contract(
    make: Callable[..., DiffusersGenerator], batch: int
) -> None:
    generator = make(scheduler="EulerAncestralDiscreteScheduler", batch=batch)
    check_generator(generator)
    latents = generator.noise([4])
    free = generator.generate_from(["fly"], latents)[0]
    fixed = [generator.generate_from(["fly"], latents, seeds=[s])[0] for s in (7, 7, 8)]
    assert np.array_equal(generator.generate(["fly"], [4])[0], free)
    assert np.array_equal(fixed[0], fixed[1])
    assert not np.array_equal(fixed[1], fixed[2])


def test_as_a_source_it_keeps_the_contract(folder: Path) -> None:
    source = SOURCES.load(f"diffusers:{folder}?steps=1&device=cpu&label=fly&template=x, {{text}}")
    cases = check_source(source, Hypothesis("a photo of a fly."))
    assert {(c.expected, c.caption) for c in cases} == {("fly", "a photo of a fly.")}
    assert source.digest == source.generator.digest
    assert not source.cpu_bound


def test_requests_from_several_threads_do_not_mix(generator: DiffusersGenerator) -> None:
    expected = generator.generate(PROMPTS, SEEDS)
    with ThreadPoolExecutor(3) as threads:
        made = list(threads.map(lambda i: generator.generate([PROMPTS[i]], [SEEDS[i]])[0], range(3)))
    assert all(map(np.array_equal, made, expected))


def test_pictures_are_those_of_diffusers_itself(generator: DiffusersGenerator, folder: Path) -> None:
    torch, diffusers = library("torch"), library("diffusers")
    with quiet():
        pipe = diffusers.StableDiffusionPipeline.from_pretrained(folder, safety_checker=None)
        pipe.set_progress_bar_config(disable=True)
        latents = torch.randn(1, 4, 16, 16, generator=torch.Generator().manual_seed(11))
        [expected] = pipe("a fly.", latents=latents, num_inference_steps=2, guidance_scale=2.0).images
    assert np.array_equal(generator.generate(["a fly."], [11])[0], np.asarray(expected))


# -- noise ----------------------------------------------------------------------------------------


def test_noise_follows_from_its_seed_and_makes_the_picture(generator: DiffusersGenerator) -> None:
    latents = generator.noise(SEEDS)
    assert latents.dtype == np.float32
    assert latents.shape == (3, *generator.noise_shape)
    assert generator.noise_shape == (4, 16, 16)
    np.testing.assert_array_equal(generator.noise(SEEDS[::-1]), latents[::-1])
    assert abs(latents.mean()) < 0.1
    assert latents.std() == pytest.approx(1, abs=0.1)
    assert generator.noise([]).shape == (0, 4, 16, 16)
    assert np.array_equal(generator.noise([-1]), generator.noise([2**64 - 1]))
    assert np.array_equal(generator.noise(np.asarray([7]).tolist()), generator.noise(list(np.asarray([7]))))
    before = latents.copy()
    made = generator.generate_from(PROMPTS, latents)
    np.testing.assert_array_equal(latents, before)
    for one, other in zip(made, generator.generate(PROMPTS, SEEDS), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_small_move_of_the_noise_is_a_small_change_of_the_picture(generator: DiffusersGenerator) -> None:
    here, there = generator.noise([1, 2])
    near = np.float32(np.cos(0.05)) * here + np.float32(np.sin(0.05)) * there
    made = generator.generate_from(["fly"] * 3, np.stack([here, near, there]))
    first, second, last = (picture.astype(int) for picture in made)
    assert 0 < np.abs(second - first).mean() < np.abs(last - first).mean() / 3


@pytest.mark.parametrize(
    ("prompts", "latents", "what"),
    [
        (["a"], np.zeros((1, 4, 8, 8)), "latents of shape"),
        (["a"], np.zeros((4, 16, 16)), "1 prompts and 4 rows of latents"),
        (["a"], np.full((1, 4, 16, 16), np.nan), "not finite"),
        (["a", "b"], np.zeros((1, 4, 16, 16)), "2 prompts and 1 rows"),
    ],
)
def test_latents_that_do_not_fit(
    generator: DiffusersGenerator, prompts: list[str], latents: np.ndarray, what: str
) -> None:
    with pytest.raises(WeakspotError, match=what):
        generator.generate_from(prompts, latents)


def test_prompts_and_seeds_are_counted(generator: DiffusersGenerator) -> None:
    with pytest.raises(WeakspotError, match="2 prompts and 1 seeds"):
        generator.generate(["a", "b"], [1])
    with pytest.raises(WeakspotError, match="1 prompts and 2 seeds"):
        generator.generate_from(["a"], generator.noise([1]), seeds=[1, 2])


# -- what can be asked for ------------------------------------------------------------------------


def test_hostile_prompts_are_drawn_without_a_word(
    generator: DiffusersGenerator, capfd: pytest.CaptureFixture[str]
) -> None:
    long = "a fly on a flower, " * 500
    prompts = [
        "",
        " \n\t\x00",
        long,
        long + "and a bee",
        "蝇 🪰 ́ \u202e",
        "\ud800",
        "<|endoftext|>",
        "{text} %s",
    ]
    pictures = generator.generate(prompts, [1] * len(prompts))
    assert len(pictures) == len(prompts)
    assert np.array_equal(pictures[2], pictures[3])  # both are cut off where the tokenizer ends
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("size", "shape"), [((32, 48), (32, 48)), ((64, 32), (64, 32)), (48, (48, 48))])
def test_sizes(make: Callable[..., DiffusersGenerator], size: Any, shape: tuple[int, int]) -> None:
    generator = make(size=size, steps=1)
    assert generator.size == shape
    assert generator.noise_shape == (4, shape[0] // 2, shape[1] // 2)
    assert generator.generate(["fly"], [1])[0].shape == (*shape, 3)


def test_settings_change_the_picture(make: Callable[..., DiffusersGenerator]) -> None:
    options: list[dict[str, Any]] = [
        {}, {"steps": 3}, {"guidance": 9.0}, {"guidance": 1.0}, {"negative": "a bee"},
        {"scheduler": "HeunDiscreteScheduler"}, {"dtype": "bfloat16"},
    ]  # fmt: skip
    made = [make(**o).generate(["a fly."], [1])[0].tobytes() for o in options]
    assert len(set(made)) == len(made)


def test_it_says_what_it_is(make: Callable[..., DiffusersGenerator], folder: Path) -> None:
    generator = make(dtype="bfloat16", batch=2)
    assert (generator.name, generator.device, generator.dtype) == (str(folder), "cpu", "bfloat16")
    assert repr(generator) == f"<DiffusersGenerator {folder} · cpu · bfloat16 · 32×32 pixels · batch 2>"


def test_progress_is_told_and_nothing_is_printed(
    make: Callable[..., DiffusersGenerator], capfd: pytest.CaptureFixture[str]
) -> None:
    told: list[tuple[int, int]] = []
    generator = make(batch=2, on_progress=lambda done, total: told.append((done, total)))
    generator.generate(["fly"] * 5, range(5))
    assert told == [(2, 5), (4, 5), (5, 5)]
    assert capfd.readouterr() == ("", "")


def test_the_denoising_network_is_compiled_on_request(
    make: Callable[..., DiffusersGenerator], monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = library("torch")
    compiled: list[str] = []
    monkeypatch.setattr(torch.nn.Module, "compile", lambda self: compiled.append(type(self).__name__))
    make()
    assert compiled == []
    make(compile=True)
    assert compiled == ["UNet2DConditionModel"]


def test_released_it_makes_no_more_pictures(make: Callable[..., DiffusersGenerator]) -> None:
    generator = make()
    generator.release()
    generator.release()
    with pytest.raises(WeakspotError, match="was released"):
        generator.generate(["fly"], [1])


# -- what goes wrong while pictures are made ------------------------------------------------------


def hungry(generator: DiffusersGenerator, most: int, error: BaseException) -> list[int]:
    """Let the pipeline fail with more than `most` pictures; the sizes of the batches that were tried."""
    pipe, tried = generator.network, []

    def call(**options: Any) -> Any:
        tried.append(len(options["prompt"]))
        if tried[-1] > most:
            raise error
        return pipe(**options)

    generator.network = call
    return tried


def oom(kind: str) -> BaseException:
    torch = library("torch")
    errors: dict[str, BaseException] = {
        "type": torch.OutOfMemoryError(),
        "cuda": RuntimeError("CUDA error: out of memory"),
        "cpu": RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried …"),
        "python": MemoryError(),
    }
    return errors[kind]


@pytest.mark.parametrize("kind", ["type", "cuda", "cpu", "python"])
def test_out_of_memory_halves_the_batch_and_goes_on(
    make: Callable[..., DiffusersGenerator], generator: DiffusersGenerator, kind: str
) -> None:
    assert out_of_memory(oom(kind))
    other = make(batch=5)
    tried = hungry(other, 1, oom(kind))
    pictures = other.generate(PROMPTS, SEEDS)
    assert tried == [5, 2, 1, 1, 1]
    assert other.batch == 1
    assert all(map(np.array_equal, pictures, generator.generate(PROMPTS, SEEDS)))
    other.generate(["fly"], [9])
    assert tried[5:] == [1]  # it is remembered


GB = 1 << 30


@pytest.mark.parametrize(
    ("free", "size", "dtype", "wanted"),
    [
        (None, (64, 64), "float32", 1),  # no GPU
        (130 * GB, (512, 512), "bfloat16", 8),  # more would not be faster
        (21 * GB, (512, 512), "float16", 8),
        (5 * GB, (512, 512), "float16", 2),
        (21 * GB, (1024, 1024), "bfloat16", 2),
        (75 * GB, (1024, 1024), "bfloat16", 8),
        (2 * GB, (1024, 1024), "float32", 1),  # it will be tried
        (8 * GB, (64, 64), "float32", 64),
        (8 * GB, (256, 128), "float16", 32),
    ],
)
def test_the_first_batch_follows_from_free_memory(
    free: int | None, size: tuple[int, int], dtype: str, wanted: int
) -> None:
    assert fitting_batch(free, size=size, dtype=dtype) == wanted


def test_a_gpu_that_others_use_gets_smaller_batches(
    make: Callable[..., DiffusersGenerator], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A GPU that is not there: what it would say of its memory, and an error in the middle."""
    assert free_memory("cpu") is None
    cuda = library("torch").cuda
    monkeypatch.setattr(cuda, "mem_get_info", lambda device: (40 << 20, 24 * GB))
    monkeypatch.setattr(cuda, "memory_reserved", lambda device: 10 << 20)
    monkeypatch.setattr(cuda, "memory_allocated", lambda device: 4 << 20)
    assert free_memory("cuda:1") == 46 << 20
    free = free_memory("cuda")
    monkeypatch.setattr("weakspot.models.diffusers.pipeline.free_memory", lambda device: free)
    generator = make()
    assert generator.batch == 4  # of 8 MB each
    assert "batch 4" in generator.about
    tried = hungry(generator, 2, oom("cuda"))
    with caplog.at_level("WARNING", "weakspot.models"):
        assert len(generator.generate(PROMPTS, SEEDS)) == 3
    assert tried == [4, 2, 2]
    assert "out of memory; batches of 2 from now on" in caplog.text
    assert make(batch=16).batch == 16  # who says it knows better


def test_out_of_memory_with_one_picture_is_explained(make: Callable[..., DiffusersGenerator]) -> None:
    generator = make(batch=2)
    tried = hungry(generator, 0, oom("cuda"))
    with pytest.raises(WeakspotError, match="does not fit into the memory") as caught:
        generator.generate(["fly"], [1])
    assert "smaller size" in caught.value.fix
    assert tried == [2, 1]


def test_other_errors_are_not_taken_for_a_lack_of_memory(make: Callable[..., DiffusersGenerator]) -> None:
    generator = make(batch=2)
    tried = hungry(generator, 0, RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
    with pytest.raises(RuntimeError, match="mat1"):
        generator.generate(["fly"], [1])
    assert tried == [2]


def answering(generator: DiffusersGenerator, **answer: Any) -> None:
    generator.network = lambda **_: SimpleNamespace(**answer)


def test_a_picture_that_the_safety_checker_holds_back_is_an_error(
    make: Callable[..., DiffusersGenerator],
) -> None:
    generator = make(batch=4)
    black = np.zeros((4, 32, 32, 3), np.float32)
    answering(generator, images=black, nsfw_content_detected=[False, True, False, False])
    with pytest.raises(WeakspotError, match="safety checker held back the picture of 'two'") as caught:
        generator.generate(["one", "two"], [1, 2])
    assert caught.value.fix
    answering(generator, images=black, nsfw_content_detected=[False, False, True, True])  # of the filling
    assert len(generator.generate(["one", "two"], [1, 2])) == 2


def test_a_real_safety_checker_is_kept(tmp_path: Path) -> None:
    folder = build(tmp_path / "checked", checker=True)
    generator = DiffusersGenerator(folder, device="cpu", steps=1)
    assert generator.network.safety_checker is not None
    with pytest.raises(WeakspotError, match=r"safety checker held back the picture of 'a fly\.'"):
        generator.generate(["a fly."], [1])


def test_numbers_that_are_not_finite_are_an_error(make: Callable[..., DiffusersGenerator]) -> None:
    generator = make(dtype="bfloat16")
    answering(generator, images=np.full((1, 32, 32, 3), np.nan, np.float32))
    with pytest.raises(WeakspotError, match="'fly' has numbers that are not finite") as caught:
        generator.generate(["fly"], [1])
    assert "float32" in caught.value.fix


# -- folders --------------------------------------------------------------------------------------


def test_what_is_no_pipeline_folder(tmp_path: Path) -> None:
    assert "there is no folder" in refused(tmp_path / "none").what
    assert "cannot be read" in refused("x" * 5000).what
    assert "cannot be read" in refused("~nobody-of-this-name/sd").what
    file = tmp_path / "sd.safetensors"
    file.write_bytes(b"x")
    assert "from_single_file" in refused(file).fix
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "it is empty" in refused(empty).what
    (empty / "unet\x1b[2J").mkdir()
    (empty / "v1-5-pruned.ckpt").touch()
    error = refused(empty)
    assert "has no model_index.json" in error.what
    assert "v1-5-pruned.ckpt" in error.what
    assert "\x1b" not in error.what


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", "{", '{"_class_name": 3', "\x00", '{"_class_name": null}']
)
def test_an_index_that_cannot_be_read(copy: Path, content: str) -> None:
    (copy / "model_index.json").write_text(content)
    assert "model_index.json" in refused(copy).what


@pytest.mark.parametrize(
    ("changes", "what", "fix"),
    [
        ({"_class_name": ["my_pipeline", "Mine"]}, "names code of its own", "come with diffusers"),
        ({"_class_name": "StableDifusionPipeline"}, "no pipeline 'StableDif", "'StableDiffusionPipeline'"),
        ({"_class_name": "os"}, "has no pipeline 'os'", "version"),
        ({"unet": ["my_unet", "Net"]}, "names code of its own", "come with diffusers"),
        ({"unet": ["os", "system"]}, "names code of its own", "come with diffusers"),
        ({"unet": ["../../x", "Net"]}, "names code of its own", "come with diffusers"),
        ({"unet": ["diffusers", "NoSuchNet"]}, "diffusers has no 'NoSuchNet'", "version"),
        ({"unet": ["diffusers", "AutoencoderKL"]}, "unet", "again"),
        ({"tokenizer": ["transformers", "NoSuchTokenizer"]}, "cannot be loaded", "again"),
        ({"_class_name": "StableDiffusionImg2ImgPipeline"}, "is not a text-to-image pipeline", "StableDiff"),
        ({"_class_name": "DDPMPipeline"}, "is not a text-to-image pipeline", "StableDiffusionPipeline"),
        ({"_class_name": "AutoencoderKL"}, "is not a text-to-image pipeline", "StableDiffusionPipeline"),
        ({"scheduler": ["diffusers", "DPMSolverSDEScheduler"]}, "not by their seeds", "another sampler"),
        ({"text_encoder": [None, None]}, "cannot be loaded", "again"),
    ],
)
def test_an_index_that_names_the_wrong_things(
    copy: Path, changes: dict[str, Any], what: str, fix: str
) -> None:
    (copy / "unet" / "my_unet.py").write_text("raise SystemExit('code of the model was run')")
    (copy / "my_pipeline.py").write_text("raise SystemExit('code of the model was run')")
    edit(copy / "model_index.json", **changes)
    error = refused(copy)
    assert what in error.what
    assert fix in error.fix


def test_missing_parts(copy: Path) -> None:
    shutil.rmtree(copy / "vae")
    error = refused(copy)
    assert "lacks the component 'vae'" in error.what
    assert "unet" in error.what


@pytest.mark.parametrize("name", [UNET, TEXT])
def test_missing_weights(copy: Path, name: str) -> None:
    (copy / name).unlink()
    error = refused(copy)
    assert f"{name} are missing; there is: config.json" in error.what


@pytest.mark.parametrize(
    "name",
    [
        "unet/config.json",
        "text_encoder/config.json",
        "scheduler/scheduler_config.json",
        "tokenizer/tokenizer_config.json",
    ],
)
def test_missing_settings(copy: Path, name: str) -> None:
    (copy / name).write_text("[]")
    assert f"{name} holds a list, not an object" in refused(copy).what
    (copy / name).write_text("{")
    assert f"{name} cannot be read" in refused(copy).what
    (copy / name).unlink()
    assert f"{name} is missing; " in refused(copy).what


def test_a_tokenizer_without_its_words(copy: Path, folder: Path, generator: DiffusersGenerator) -> None:
    (copy / "tokenizer" / "tokenizer.json").unlink()
    assert "tokenizer/tokenizer.json or vocab.json with merges.txt is missing" in refused(copy).what
    spelling = folder.parent / f"{folder.name}-words"
    shutil.copy(spelling / "vocab.json", copy / "tokenizer")
    assert "tokenizer/merges.txt is missing" in refused(copy).what
    shutil.copy(spelling / "merges.txt", copy / "tokenizer")
    old = DiffusersGenerator(copy, device="cpu", steps=2, guidance=2.0)
    assert np.array_equal(old.generate(["fly"], [1])[0], generator.generate(["fly"], [1])[0])
    for file in (copy / "tokenizer").iterdir():
        file.unlink()
    assert "tokenizer/tokenizer_config.json is missing; it is empty" in refused(copy).what


def test_a_tokenizer_that_knows_no_words_is_noticed(copy: Path) -> None:
    (copy / "tokenizer" / "tokenizer.json").unlink()
    (copy / "tokenizer" / "vocab.json").write_text('{"<|startoftext|>": 190, "<|endoftext|>": 191}')
    (copy / "tokenizer" / "merges.txt").write_text("#version: 0.2\n")
    with pytest.raises(ContractError, match="give the same picture with the same seed"):
        check_generator(DiffusersGenerator(copy, device="cpu", steps=1))


def test_a_tokenizer_that_cannot_read_a_prompt(copy: Path) -> None:
    """Without its longest length it takes one that no library can count to."""
    (copy / "tokenizer" / "tokenizer_config.json").write_text("{}")
    error = refused(copy)
    assert "StableDiffusionPipeline cannot read a prompt: OverflowError" in error.what
    assert "tokenizer" in error.fix


@pytest.mark.parametrize("suffix", [".bin", ".ckpt", ".pt", ".pth", ".pkl"])
def test_pickles_are_refused(copy: Path, suffix: str) -> None:
    (copy / UNET).rename((copy / UNET).with_suffix(suffix))
    error = refused(copy)
    assert "only as a pickle" in error.what
    assert "save_pretrained" in error.fix


def test_a_pickle_beside_the_weights_is_not_touched(copy: Path, folder: Path) -> None:
    (copy / UNET).with_suffix(".bin").write_bytes(b"cos\nsystem\n(S'exit 3'\ntR.")
    generator = DiffusersGenerator(copy, device="cpu")
    assert generator.digest == DiffusersGenerator(folder, device="cpu").digest
    half = DiffusersGenerator(folder, device="cpu", dtype="bfloat16")
    assert half.digest == f"{generator.digest}-bfloat16"  # other pictures


@pytest.mark.parametrize("name", [UNET, TEXT])
@pytest.mark.parametrize(
    ("break_it", "what"),
    [
        (lambda content: content[: len(content) // 2], "not a complete safetensors file"),
        (lambda content: content[:40], "not a complete safetensors file"),
        (lambda _: b"", "not a complete safetensors file"),
        (lambda _: b"not weights at all, but some text", "not a complete safetensors file"),
        (lambda _: b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "pointer of Git LFS"),
    ],
)
def test_broken_weights(copy: Path, name: str, break_it: Callable[[bytes], bytes], what: str) -> None:
    (copy / name).write_bytes(break_it((copy / name).read_bytes()))
    error = refused(copy)
    assert what in error.what
    assert name in error.what


@pytest.mark.parametrize(("name", "key"), [(UNET, "conv_in.bias"), (TEXT, "final_layer_norm.bias")])
def test_weights_that_do_not_fit_their_config(
    copy: Path, name: str, key: str, capfd: pytest.CaptureFixture[str]
) -> None:
    whole = (copy / name).read_bytes()
    alter(copy / name, lambda tensors: tensors.pop(key))
    assert f"{key} is missing" in refused(copy).what
    (copy / name).write_bytes(whole)
    alter(copy / name, lambda tensors: tensors.update(strange=np.zeros(3, np.float32)))
    assert "there is no place for strange" in refused(copy).what
    (copy / name).write_bytes(whole)
    alter(copy / name, lambda tensors: tensors.update({key: np.zeros(7, np.float32)}))
    error = refused(copy)
    assert key in error.what
    assert "7" in error.what
    assert capfd.readouterr() == ("", "")


def test_a_config_that_does_not_fit_its_weights(copy: Path) -> None:
    edit(copy / "text_encoder" / "config.json", num_hidden_layers=3)
    assert "is missing" in refused(copy).what
    edit(copy / "text_encoder" / "config.json", num_hidden_layers=1)
    assert "there is no place for" in refused(copy).what
    (copy / "text_encoder" / "config.json").write_text("{")
    assert "text_encoder/config.json cannot be read" in refused(copy).what


def test_names_of_older_versions_are_understood(copy: Path, generator: DiffusersGenerator) -> None:
    """The text encoders of Stable Diffusion 1 have a prefix, and numbers that carry no information."""

    def age(tensors: dict[str, Any]) -> None:
        for key in list(tensors):
            tensors[f"text_model.{key.removeprefix('text_model.')}"] = tensors.pop(key)
        tensors["text_model.embeddings.position_ids"] = np.arange(77)[None]

    alter(copy / TEXT, age)
    old = DiffusersGenerator(copy, device="cpu", steps=2, guidance=2.0)
    assert np.array_equal(old.generate(["fly"], [1])[0], generator.generate(["fly"], [1])[0])


def test_weights_in_shards(copy: Path, generator: DiffusersGenerator) -> None:
    diffusers = library("diffusers")
    with quiet():
        unet = diffusers.UNet2DConditionModel.from_pretrained(copy / "unet")
        (copy / UNET).unlink()
        unet.save_pretrained(copy / "unet", max_shard_size="400KB")
    shards = sorted((copy / "unet").glob("*-of-*.safetensors"))
    assert len(shards) > 1
    sharded = DiffusersGenerator(copy, device="cpu", steps=2, guidance=2.0)
    assert np.array_equal(sharded.generate(["fly"], [1])[0], generator.generate(["fly"], [1])[0])
    shards[1].unlink()
    assert f"{shards[1].name} are missing" in refused(copy).what
    (copy / f"{UNET}.index.json").write_text("[]")
    assert "index.json cannot be read" in refused(copy).what


def test_digests(copy: Path) -> None:
    digests = {p.relative_to(copy).as_posix(): sha256(p) for p in copy.rglob("*") if p.is_file()}
    assert UNET in digests
    check_digests(copy, digests)
    DiffusersGenerator(copy, device="cpu", digests=digests)
    strange = copy / "unet" / "strange.py"
    strange.touch()
    assert "strange.py does not belong there" in refused(copy, digests=digests).what
    strange.unlink()
    assert "none.json is missing" in refused(copy, digests=digests | {"none.json": "0" * 64}).what
    edit(copy / "scheduler" / "scheduler_config.json", beta_end=0.03)
    error = refused(copy, digests=digests)
    assert "scheduler_config.json is not the file it should be (its SHA-256 differs)" in error.what
    assert error.fix == "reinstall it"


def test_the_digest_of_a_run_changes_with_any_file(copy: Path, folder: Path) -> None:
    whole = DiffusersGenerator(folder, device="cpu").digest
    assert DiffusersGenerator(copy, device="cpu").digest == whole
    edit(copy / "scheduler" / "scheduler_config.json", beta_end=0.03)
    assert DiffusersGenerator(copy, device="cpu").digest != whole


# -- the model hub, never reached -----------------------------------------------------------------


def test_offline_a_name_on_the_hub_is_explained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    huggingface_hub = library("huggingface_hub")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    error = refused("nobody/no-such-model")
    assert "there is no folder nobody/no-such-model, and the model hub did not give it" in error.what
    assert "HF_HUB_OFFLINE" in error.fix


def test_the_hub_out_of_reach_is_one_message_and_its_cache_is_silent(folder: Path, tmp_path: Path) -> None:
    """As a person sees it; nobody answers at that address."""
    library("diffusers")
    commit = "0123456789" * 4
    kept = tmp_path / "hub" / "models--some--tiny"
    shutil.copytree(folder, kept / "snapshots" / commit)
    (kept / "refs").mkdir()
    (kept / "refs" / "main").write_text(commit)
    there = {
        "HF_HUB_CACHE": str(tmp_path / "hub"),
        "HF_ENDPOINT": "http://127.0.0.1:9",
        "OMP_NUM_THREADS": "1",
    }
    program = "import sys, time\nfrom weakspot.core import MODELS, WeakspotError\n"
    program += "import diffusers\nbegan = time.monotonic()\n"
    program += "try:\n    MODELS.load(sys.argv[1])\nexcept WeakspotError as error:\n    print(error.what)\n"
    program += "print(time.monotonic() - began)"

    def loaded(name: str, **more: str) -> tuple[list[str], str]:
        done = subprocess.run(
            [sys.executable, "-c", program, name],
            env=os.environ | there | more, capture_output=True, text=True, timeout=120, check=True,
        )  # fmt: skip
        return done.stdout.splitlines(), done.stderr

    [what, seconds], said = loaded("diffusers:nobody/none", HF_HUB_OFFLINE="0")
    assert what.startswith("there is no folder nobody/none, and the model hub did not give it: ")
    assert said == ""
    assert float(seconds) < 10
    assert loaded("diffusers:some/tiny?device=cpu&steps=2", HF_HUB_OFFLINE="1")[1] == ""


@pytest.mark.parametrize("name", ["sd", "/models/sd", "./a/b", "../a/b", "a/b/c", "a/../b", "a b/c"])
def test_what_cannot_be_a_name_on_the_hub_is_a_missing_folder(name: str) -> None:
    assert "there is no folder" in refused(name).what


def test_a_fetched_pipeline_is_checked_like_any_folder(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    diffusers, huggingface_hub = library("diffusers"), library("huggingface_hub")
    asked: list[Any] = []

    def download(name: str, **options: Any) -> str:
        asked.append((name, options))
        return str(copy)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_, **__: str(copy))
    monkeypatch.setattr(diffusers.DiffusionPipeline, "download", download)
    generator = DiffusersGenerator("some/model", device="cpu", revision="v2")
    assert generator.name == "some/model"
    assert asked == [("some/model", {"revision": "v2", "use_safetensors": True})]
    (copy / UNET).unlink()
    assert "are missing" in refused("some/model").what
    edit(copy / "model_index.json", _class_name=["pipeline", "Mine"])
    asked.clear()
    assert "names code of its own" in refused("some/model").what
    assert asked == []  # nothing more was fetched
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_, **__: 1 / 0)
    assert "HF_TOKEN" in refused("some/model").fix


def test_the_networks_of_convolutions_are_laid_out_for_a_gpu(folder: Path) -> None:
    torch = library("torch")
    pipe, _ = load_pipeline(folder, dtype="float32")
    for device, last in (("cpu", False), ("cuda", True)):
        lay_out(pipe, device)
        for network in (pipe.unet, pipe.vae):
            some = next(p for p in network.parameters() if p.ndim == 4 and p.shape[2] > 1 and p.shape[1] > 1)
            assert some.is_contiguous(memory_format=torch.channels_last) == last


# -- names ----------------------------------------------------------------------------------------


def test_by_name(folder: Path) -> None:
    generator = MODELS.load(
        f"diffusers:{folder}?device=cpu&dtype=float32&steps=2&guidance=1.5&negative=a bee&size=32x40&batch=2"
        "&scheduler=EulerDiscreteScheduler&compile=no&offload=no"
    )
    assert (generator.size, generator.batch, generator.dtype) == ((32, 40), 2, "float32")
    assert type(generator.network.scheduler).__name__ == "EulerDiscreteScheduler"
    assert generator.generate(["fly"], [1])[0].shape == (32, 40, 3)


@pytest.mark.parametrize(
    ("options", "what", "fix"),
    [
        ("steps=0", "steps cannot be '0'", "1 to 1000"),
        ("steps=many", "steps cannot be 'many'", "1 to 1000"),
        ("steps=²", "steps cannot be", "1 to 1000"),
        ("stpes=3", "no option 'stpes'", "'steps'"),
        ("guidance=nan", "guidance cannot be 'nan'", "0 to 100"),
        ("guidance=-1", "guidance cannot be", "0 to 100"),
        ("guidance=much", "guidance cannot be", "0 to 100"),
        ("negative=x&guidance=1", "means nothing without guidance", "leave it out"),
        ("size=0", "pictures cannot be '0'", "512x768"),
        ("size=1x2x3", "pictures cannot be '1x2x3'", "512x768"),
        ("size=64x", "pictures cannot be '64x'", "512x768"),
        ("size=33", "refuses its settings", "size"),
        ("batch=0", "batch cannot be '0'", "1 to 4096"),
        ("batch=99999999999999999999", "batch cannot be", "1 to 4096"),
        ("device=gpu", "'gpu' is not a device", "cuda:0"),
        ("device=cpu:1", "'cpu:1' is not a device", "cuda:0"),
        ("device=cuda:x", "'cuda:x' is not a device", "cuda:0"),
        ("device=cuda:99", "there is no cuda:99 here", "device=cpu"),
        ("dtype=flaot16", "'flaot16' is not a number format", "did you mean 'float16'?"),
        ("dtype=int8", "'int8' is not a number format", "float32"),
        ("scheduler=EulerDiscretScheduler", "is not a scheduler of diffusers", "'EulerDiscreteScheduler'"),
        ("scheduler=FlowMatchHeunDiscreteScheduler", "does not go with this pipeline", "Heun"),
        ("scheduler=DPMSolverSDEScheduler", "not by their seeds", "DPMSolverMultistepScheduler"),
        ("scheduler=os", "is not a scheduler of diffusers", "choose one of: DDIM"),
        ("revision=main", "which has no revisions", "leave revision out"),
        ("compile=1", "compile cannot be '1'", "yes or no"),
        ("offload=maybe", "offload cannot be 'maybe'", "yes or no"),
        ("offload=yes&device=cpu", "nothing to offload", "leave offload out"),
    ],
)
def test_wrong_names_are_explained(folder: Path, options: str, what: str, fix: str) -> None:
    with pytest.raises(WeakspotError) as caught:
        MODELS.load(f"diffusers:{folder}?{options}")
    assert what in caught.value.what
    assert fix in caught.value.fix


@pytest.mark.parametrize("options", [{"steps": 0}, {"batch": 0}, {"batch": -2}])
def test_numbers_that_cannot_be_meant(folder: Path, options: dict[str, int]) -> None:
    assert "cannot be" in refused(folder, **options).what


def test_device_and_number_format_are_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = library("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert choose_device("auto") == "cpu"
    with pytest.raises(WeakspotError, match="there is no cuda here"):
        choose_device("cuda")
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert choose_device("auto") == "mps"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert choose_device("auto") == "cuda"
    assert choose_device("cuda:1") == "cuda:1"
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: (9, 0))
    assert choose_dtype("auto", "cuda") == "bfloat16"
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: (7, 5))
    assert choose_dtype("auto", "cuda:1") == "float16"
    assert choose_dtype("auto", "mps") == choose_dtype("auto", "cpu") == "float32"


@pytest.mark.parametrize("library", ["torch", "diffusers", "transformers"])
@pytest.mark.parametrize("registry", [MODELS, SOURCES], ids=["model", "source"])
def test_a_missing_library_says_the_extra(
    folder: Path, monkeypatch: pytest.MonkeyPatch, library: str, registry: Any
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    options = "" if registry is MODELS else "?label=fly"
    with pytest.raises(WeakspotError, match="'diffusers' needs a library that is missing") as caught:
        registry.load(f"diffusers:{folder}{options}")
    assert caught.value.fix == "pip install 'weakspot[hf]'"


@pytest.mark.parametrize("library", ["torch", "diffusers", "transformers"])
def test_a_missing_library_says_the_extra_in_python_too(
    folder: Path, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    from weakspot.world import generator

    monkeypatch.setitem(sys.modules, library, None)
    assert refused(folder).fix == "pip install 'weakspot[hf]'"
    with pytest.raises(WeakspotError, match="needs a library that is missing") as caught:
        generator.load()
    assert caught.value.fix == "pip install 'weakspot[hf]'"


# -- from the shell -------------------------------------------------------------------------------

HUNT = ["hunt", "python:toy:Classifier", "--label", "fly", "--budget", "images=30", "--out", "run"]


def test_a_hunt_with_a_generator_as_its_source(
    toy: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = f"diffusers:{folder}?steps=1&guidance=1&device=cpu"
    assert cli([*HUNT, "--source", source, "--json"]) in (0, 3)
    told = json.loads(capsys.readouterr().out)
    assert told["trials"]["n"] > 10
    assert told["errors"] == []
    assert told["digests"].keys() == {"source"}
    assert (toy / "run" / "report.html").is_file()


def test_the_shell_says_the_extra_and_the_folder(
    toy: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli([*HUNT, "--source", "diffusers:no-such-folder"]) == 1
    assert "error: there is no folder no-such-folder" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "diffusers", None)
    assert cli([*HUNT, "--source", f"diffusers:{folder}"]) == 1
    assert "  fix: pip install 'weakspot[hf]'" in capsys.readouterr().err
