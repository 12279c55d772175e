"""The built-in names of every kind, entered as any plugin's are.

A target is "module:attr", so that naming a thing imports only that thing.
"""

from __future__ import annotations

from typing import Final

from weakspot.core.entry import Entry

MODELS: Final = (
    Entry(
        "world:classifier",
        "weakspot.world.classifier:load",
        "the drawn world's own classifier",
        ports=("classifier",),
    ),
    Entry(
        "world:classifier-resnet-2",
        "weakspot.world.classifier:classifier_resnet_2",
        "the same network from another start",
        ports=("classifier",),
    ),
    Entry(
        "world:classifier-vit-1",
        "weakspot.world.classifier:classifier_vit_1",
        "a vision transformer trained on the same pictures",
        ports=("classifier",),
    ),
    Entry(
        "world:classifier-vit-2",
        "weakspot.world.classifier:classifier_vit_2",
        "the same transformer from another start",
        ports=("classifier",),
    ),
    Entry(
        "world:classifier-fair",
        "weakspot.world.classifier:classifier_fair",
        "the verifier: a larger network that saw every kind of scene as often as any other",
        ports=("classifier",),
    ),
    Entry(
        "world:generator",
        "weakspot.world.generator:load",
        "a text-to-image pipeline of the world's own",
        extra="hf",
        ports=("generator",),
        beside=(("judge", "picture?encoder=world:encoder"),),
    ),
    Entry(
        "world:generator-small",
        "weakspot.world.generator:small",
        "another one, a quarter as large, that errs more often",
        extra="hf",
        ports=("generator",),
        beside=(("judge", "picture?encoder=world:encoder"),),
    ),
    Entry(
        "world:encoder",
        "weakspot.world.encoder:load",
        "the world's texts and pictures in one space",
        ports=("encoder",),
    ),
    Entry(
        "world:captioner",
        "weakspot.world.captioner:load",
        "says what is in pictures of the world, and how likely a sentence is",
        ports=("captioner",),
    ),
    Entry(
        "world:guide",
        "weakspot.world.alarmed_chat:load",
        "a chat model that is afraid of words",
        ports=("chat",),
    ),
    Entry(
        "world:scenes",
        "weakspot.world.scenes:load",
        "what a text of the world means, exactly: a reference for mine",
        ports=("encoder",),
    ),
    Entry(
        "onnx",
        "weakspot.models.onnx.encoder:load",
        "an image classifier in an ONNX file; a folder of towers and a tokenizer is an encoder",
        "onnx:model.onnx?labels=labels.txt",
        ports=("classifier", "encoder"),
        examples=(("encoder", "onnx:folder"),),
    ),
    Entry(
        "npz",
        "weakspot.models.recorded.vectors:load",
        "vectors that are already computed, with their texts",
        "npz:clip.npz?vectors=embeddings&texts=captions",
        ports=("encoder",),
    ),
    Entry(
        "st",
        "weakspot.models.hf.sentence_transformers:load",
        "a text encoder of sentence-transformers",
        "st:all-mpnet-base-v2",
        extra="hf",
        ports=("encoder",),
    ),
    Entry(
        "openclip",
        "weakspot.models.torch.openclip:load",
        "an encoder of open_clip",
        "openclip:ViT-L-14/openai",
        extra="vision",
        ports=("encoder",),
    ),
    Entry(
        "hf",
        "weakspot.models.hf.model:load",
        "a classifier, captioner, encoder (CLIP, SigLIP, MiniLM) or summariser of transformers",
        "hf:microsoft/resnet-50",
        extra="hf",
        ports=("classifier", "captioner", "encoder", "summariser"),
        examples=(
            ("captioner", "hf:Salesforce/blip-image-captioning-large?tokens=40"),
            ("encoder", "hf:openai/clip-vit-large-patch14?batch=256"),
            ("summariser", "hf:facebook/bart-large-cnn?tokens=60"),
        ),
    ),
    Entry(
        "extract",
        "weakspot.models.summarise:load",
        "a summariser that chooses sentences; needs no weights",
        "extract:3?by=lead",
        ports=("summariser",),
    ),
    Entry(
        "ngrams",
        "weakspot.models.ngrams:load",
        "a text encoder by words and letters; needs no weights",
        "ngrams?size=512",
        ports=("encoder",),
    ),
    Entry(
        "python",
        "weakspot.models.python:load",
        "a Target, or a function from uint8 images to probabilities, logits or labels",
        "python:package.module:attr?labels=labels.txt",
        ports=("classifier", "encoder"),
        examples=(("encoder", "python:package.module:encoder"),),
    ),
    Entry(
        "torch",
        "weakspot.tuning.torch_model:load",
        "an image classifier that is a torch module, with weights in a safetensors file",
        "torch:package.module:attr?weights=FILE.safetensors&labels=labels.txt",
        extra="torch",
        ports=("classifier",),
    ),
    Entry(
        "timm",
        "weakspot.models.torch.timm:load",
        "an image classifier of timm",
        "timm:resnet50.a1_in1k",
        extra="vision",
        ports=("classifier",),
    ),
    Entry(
        "torchvision",
        "weakspot.models.torch.torchvision:load",
        "an image classifier of torchvision; its own weights are pickles, read on your word alone",
        "torchvision:alexnet?pickle=yes",
        extra="vision",
        ports=("classifier",),
    ),
    Entry(
        "torchscript",
        "weakspot.models.torch.torchscript:load",
        "an image classifier in a TorchScript file, which is a program: run on your word alone",
        "torchscript:model.pt?labels=labels.txt&code=yes",
        extra="torch",
        ports=("classifier",),
    ),
    Entry(
        "diffusers",
        "weakspot.models.diffusers.pipeline:load",
        "a text-to-image pipeline",
        "diffusers:stabilityai/sd-turbo?steps=4&guidance=0",
        extra="hf",
        ports=("generator",),
    ),
    Entry(
        "http",
        "weakspot.models.http.classifier:load",
        "a classifier behind an address; one that ends in /images/generations makes pictures",
        "http://127.0.0.1:8000/predict?labels=labels.txt&answer=predictions.0",
        ports=("classifier", "generator"),
    ),
    Entry(
        "https",
        "weakspot.models.http.classifier:load_secure",
        "the same, over TLS",
        "https://api.openai.com/v1/images/generations?model=gpt-image-1",
        ports=("classifier", "generator"),
        examples=(("classifier", "https://models.example/predict?labels=labels.txt&send=multipart"),),
    ),
    Entry(
        "replay",
        "weakspot.studies.ask.recording:load",
        "recorded answers of a chat model",
        "replay:responses.jsonl",
        ports=("chat",),
    ),
    Entry(
        "chat",
        "weakspot.models.chat.model:load",
        "a chat model of any provider, or of a server of your own",
        "chat:openai/gpt-4o?concurrency=10",
        extra="chat",
        ports=("chat", "captioner", "summariser"),
    ),
)

SOURCES: Final = (
    Entry(
        "http",
        "weakspot.sources.generate_http:load",
        "pictures of an images endpoint",
        "http://127.0.0.1:7860/v1/images/generations?seed=seed",
    ),
    Entry(
        "https",
        "weakspot.sources.generate_http:load_secure",
        "pictures of an images endpoint, over TLS",
        "https://api.openai.com/v1/images/generations?model=gpt-image-1&cache=pictures",
    ),
    Entry(
        "mossbench",
        "weakspot.sources.mossbench:load",
        "MOSSBench: benign questions with pictures, and harmful counterparts",
        "mossbench:DIR",
    ),
    Entry(
        "questions",
        "weakspot.sources.question_files:load",
        "your own questions, with or without pictures, from a table",
        "questions:questions.jsonl?slices=topic,style",
    ),
    Entry(
        "world:questions",
        "weakspot.world.alarmed_chat:questions",
        "36 harmless questions of three kinds, each with a harmful counterpart",
    ),
    Entry("xstest", "weakspot.sources.xstest:load", "XSTest: safe and unsafe prompts", "xstest:FILE"),
    Entry(
        "world:cells",
        "weakspot.world.cells:load",
        "scenes of the world by the cells of a concept space, for map",
    ),
    Entry(
        "world:renderer",
        "weakspot.world.renderer:load",
        "draws the world exactly as the words say",
        beside=(("matcher", "world:captioner"), ("judge", "picture?encoder=world:encoder")),
    ),
    Entry(
        "world:generator",
        "weakspot.world.generator:source",
        "pictures of the world by its own text-to-image model",
        extra="hf",
        beside=(("matcher", "world:captioner"),),
    ),
    Entry(
        "world:generator-small",
        "weakspot.world.generator:small_source",
        "the same by the smaller model",
        extra="hf",
        beside=(("matcher", "world:captioner"),),
    ),
    Entry("python", "weakspot.core.registry:import_part", "your own Source", "python:package.module:attr"),
    Entry(
        "diffusers",
        "weakspot.sources.generate:load",
        "pictures of a text-to-image pipeline",
        "diffusers:stabilityai/sd-turbo?steps=4&guidance=0",
        extra="hf",
    ),
    Entry(
        "retrieve",
        "weakspot.sources.retrieve:load",
        "pictures of a folder, found by text",
        "retrieve:photos?encoder=world:encoder&labels=folder",
    ),
)

JUDGES: Final = (
    Entry(
        "label",
        "weakspot.judges.label:load",
        "the label is missed, by five rules that can be combined",
        "label?top=3&parent=all",
    ),
    Entry(
        "discrepancy",
        "weakspot.judges.discrepancy:load",
        "the answer is farther from the right one than it may be: Δ > ε",
        "discrepancy?measure=doubt&epsilon=0.9",
    ),
    Entry(
        "summary",
        "weakspot.judges.summary:load",
        "a summary is far from the reference: ROUGE, BLEU, embedding",
        "summary?measure=rougeL&epsilon=0.8",
    ),
    Entry(
        "picture",
        "weakspot.judges.picture:load",
        "a generated picture does not match its prompt, is of bad quality, or shows an attribute",
        "picture?encoder=world:encoder&measure=match&epsilon=0.75",
    ),
    Entry(
        "people",
        "weakspot.judges.people:load",
        "people rate each output from 1 to 10; the run stops for their ratings and goes on with them",
        "people?folder=ratings&epsilon=0.5",
    ),
    Entry(
        "embedded",
        "weakspot.judges.refusal.judge:load",
        "an answer of a chat model refuses; needs no key and no network",
        "embedded?threshold=0.5",
    ),
    Entry(
        "chat",
        "weakspot.judges.refusal.chat:load",
        "a chat model says whether an answer refuses",
        "chat:openai/gpt-4o?judge_image=yes",
        extra="chat",
    ),
    Entry(
        "panel",
        "weakspot.judges.refusal.panel:load",
        "several judges of refusals; the majority counts",
        "panel:embedded,chat:openai/gpt-4o,chat:google/gemini-2.0-flash",
    ),
    Entry(
        "similarity",
        "weakspot.judges.similarity:load",
        "two texts are embedded alike although they differ",
        "similarity?threshold=0.88&differs=rules",
    ),
    Entry("python", "weakspot.core.registry:import_part", "your own Judge", "python:package.module:attr"),
)

CORPORA: Final = (
    Entry("coco", "weakspot.sources.corpus:coco", "the captions of COCO", "coco:captions_val2017.json"),
    Entry("snli", "weakspot.sources.corpus:snli", "the premises of SNLI", "snli:DIR"),
    Entry(
        "datasets",
        "weakspot.sources.corpus:datasets",
        "a data set of the Hugging Face hub, or a folder of one",
        "datasets:owner/name?column=caption&split=train",
        extra="hf",
    ),
    Entry(
        "world",
        "weakspot.world.corpus:load",
        "captions of drawn scenes",
        "world?texts=5000&seed=0",
        beside=(("validity", "world"),),
    ),
)

PICTURES: Final = (
    Entry("world", "weakspot.world.pictures:load", "natural pictures of the drawn world", "world:2000"),
)

DIFFERS: Final = (
    Entry("rules", "weakspot.judges.differs.judge:rules", "by words and their order"),
    Entry("world", "weakspot.world.differs:load", "by the scenes that texts of the drawn world allow"),
    Entry("hf", "weakspot.judges.differs.nli:load", "a model of inference", "hf:FOLDER", extra="hf"),
    Entry("chat", "weakspot.judges.differs.llm:load", "a chat model", "chat:openai/gpt-4o", extra="chat"),
    Entry(
        "python",
        "weakspot.core.registry:import_part",
        "your own, with `differ`",
        "python:package.module:attr",
    ),
)

STUDIES: Final = (
    Entry("hunt", "weakspot.studies.hunt:STUDY", "Find captions under which a classifier fails."),
    Entry("mine", "weakspot.studies.mine:STUDY", "Find pairs that an image–text encoder confuses."),
    Entry("map", "weakspot.studies.map:STUDY", "Map which concepts make a model fail."),
    Entry("ask", "weakspot.studies.ask:STUDY", "Find which harmless questions a chat model refuses."),
    Entry("repair", "weakspot.studies.repair:STUDY", "Train weak spots away, and prove what moved."),
    Entry("rare", "weakspot.studies.rare:STUDY", "Measure failures that plain sampling hardly sees."),
)
