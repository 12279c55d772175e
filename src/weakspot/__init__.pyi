# Written by `python -m tests.study.written` from the studies' options; do not edit.
# fmt: off
# ruff: noqa
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from weakspot.after.export import export
from weakspot.after.realism import realism
from weakspot.after.transfer import transfer
from weakspot.after.tries import try_words
from weakspot.concepts.space import Axis, ConceptSpace
from weakspot.core import Case, Finding, Hypothesis, Output, Rate, Status, Tally, Verdict, WeakspotError
from weakspot.store import Run
from weakspot.study.lifecycle import resume
from weakspot.study.reports import write as write_report
import weakspot.core as _core
from weakspot.engine import Cluster as _Cluster
from weakspot.engine import Executor as _Executor
from weakspot.engine import Watch as _Watch

__all__ = ['Axis', 'Case', 'ConceptSpace', 'Finding', 'Hypothesis', 'Output', 'Rate', 'Run', 'Status', 'Tally', 'Verdict', 'WeakspotError', '__version__', 'ask', 'export', 'hunt', 'map', 'mine', 'open_run', 'rare', 'realism', 'repair', 'resume', 'table', 'transfer', 'try_words', 'write_report']
__version__: str

def open_run(folder: str) -> Run: ...

def hunt(
    target: Any,
    *,
    label: str = '',
    target_label: str | None = None,
    source: str | _core.Source | _core.Generator = 'world:renderer',
    prompt: str = 'a realistic photograph of a {label} ({parent}).',
    labels_file: str | Path | None = None,
    sense: str | None = None,
    labels: str | Sequence[str] = '',
    judge: str | _core.Judge | None = None,
    verify: str | _core.Classifier | _core.Encoder | Sequence[str | _core.Classifier | _core.Encoder] = (),
    captioner: str | _core.Captioner | _core.Target | None = None,
    encoder: str | _core.Encoder | None = None,
    llm: Any = None,
    propose: str = 'both',
    from_images: str | Path | None = None,
    tags: str | Path | None = None,
    sentences: int = 3,
    edits: int = 4,
    order: str = 'weight',
    seed: int = 0,
    budget: str = 'images=20000',
    fdr: float = 0.05,
    certify: float | None = None,
    prediction: str = '',
    score: str = '',
    image: str = '',
    text: str | Sequence[str] = (),
    group: str = '',
    id: str = '',
    relabelled: str = '',
    failed: str = '',
    ignore: str | Sequence[str] = (),
    at_once: int = 1000000,
    sample: int = 300000,
    out: str | Path | None = None,
    blobs: str | None = None,
    executor: str | _Executor | _Cluster | None = 'local',
    watch: _Watch | None = None,
) -> Run:
    """Find captions under which an image classifier fails more often than usual.

    It hunts the failures of one label, or of several with one budget. A source that does not know what it
    drew, such as a generator, needs a captioner as well.

    Args:
        target: The classifier, e.g. world:classifier (see: weakspot list models). Or: the table: a CSV, Parquet or JSON lines file, a log, a folder, a frame.
        label: The label whose failures are counted. Of a table: the column with the right answers.
        target_label: Count only this wrong answer as a failure.
        source: What draws images from words (see: weakspot list sources).
        prompt: The plain prompt, with {label} and, if wanted, ({parent}).
        labels_file: Names and parents of labels, as CSV, JSON or text.
        sense: Which meaning of the label, if WordNet has several; for several labels, e.g. crane=5,cat=1.
        labels: Several labels with one budget: all, a list with commas, or a file with one per line.
        judge: What counts as a failure (see: weakspot list judges); by default a missed label.
        verify: A classifier or encoder that must see the label before a picture counts; may be repeated.
        captioner: Describes pictures when the source does not know what it drew.
        encoder: Groups failures by what they look like. Of a table: says what the pictures show, for rows without words, e.g. world:encoder.
        llm: A language model that proposes and rewords captions, e.g. chat:openai/… Of a table: a language model that reads rows and proposes conditions, e.g. chat:openai/…
        propose: Who proposes what to test: rules, llm or both; without --llm it is the rules.
        from_images: Pictures to start from, such as failures seen elsewhere.
        tags: What an encoder may see in photographs without captions: one word or phrase per line. Of a table: what the encoder may say: one word or phrase per line; by default a built-in list.
        sentences: The most sentences that one caption may have. Of a table: the most conditions that one finding may combine.
        edits: How many edits of each finding to measure (denied, another colour, …).
        order: How findings are listed: by weight (impact × excess), rate or impact.
        seed: The same seed gives the same run.
        budget: Limits: any of images, calls, tokens, dollars, seconds; e.g. images=20k,seconds=600.
        fdr: Bound on the expected share of false findings, between 0 and 1.
        certify: Keep drawing until nothing else that was tried can fail more often than this, e.g. 0.08.
        prediction: Of a table: the column with the model's answers.
        score: Of a table: the column that says how sure the model was, from 0 to 1.
        image: Of a table: the column with the paths of pictures.
        text: Of a table: a column of captions or other words; may be repeated.
        group: Of a table: rows with the same value belong together, such as those of one patient.
        id: Of a table: the column that identifies the input of a row.
        relabelled: Of a table: the column with further answers that are also right.
        failed: Of a table: what counts as a failure if not a wrong answer, e.g. 'loss > 2'.
        ignore: Of a table: a column to leave out; may be repeated.
        at_once: Of a table: a table with more rows is read in pieces: a sample suggests, all other rows test.
        sample: Of a table: how many rows of such a table are sampled to suggest weak spots.
        out: The run's folder, new or empty; by default a new one in runs/.
        blobs: Keep inputs elsewhere, e.g. s3://bucket/folder; by default in the run's folder.
        executor: Where the work is done: local, or on Ray, e.g. 'ray?source=4' or 'ray:auto?source_gpus=1'.
        watch: Who is told about the progress.

    Returns:
        The run, open for reading.
    """

def table(
    target: Any,
    *,
    label: str = '',
    prediction: str = '',
    score: str = '',
    image: str = '',
    text: str | Sequence[str] = (),
    group: str = '',
    id: str = '',
    relabelled: str = '',
    failed: str = '',
    ignore: str | Sequence[str] = (),
    encoder: str | _core.Encoder | None = None,
    tags: str | Path | None = None,
    llm: Any = None,
    propose: str = 'both',
    sentences: int = 3,
    at_once: int = 1000000,
    sample: int = 300000,
    seed: int = 0,
    fdr: float = 0.05,
    out: str | Path | None = None,
    blobs: str | None = None,
    executor: str | _Executor | _Cluster | None = 'local',
    watch: _Watch | None = None,
) -> Run:
    """Find which kinds of rows an evaluation fails on, from a table of its results.

    The table is a CSV, Parquet, JSON lines or log file with a row for each input. Columns are recognised by
    their usual names; if yours have others, name them with the options below. What one half of the rows
    suggests is confirmed on the other half. The model that failed is not asked again.

    Args:
        target: The table: a CSV, Parquet or JSON lines file, a log, a folder, a frame.
        label: The column with the right answers.
        prediction: The column with the model's answers.
        score: The column that says how sure the model was, from 0 to 1.
        image: The column with the paths of pictures.
        text: A column of captions or other words; may be repeated.
        group: Rows with the same value belong together, such as those of one patient.
        id: The column that identifies the input of a row.
        relabelled: The column with further answers that are also right.
        failed: What counts as a failure if not a wrong answer, e.g. 'loss > 2'.
        ignore: A column to leave out; may be repeated.
        encoder: Says what the pictures show, for rows without words, e.g. world:encoder.
        tags: What the encoder may say: one word or phrase per line; by default a built-in list.
        llm: A language model that reads rows and proposes conditions, e.g. chat:openai/…
        propose: Who proposes what to test: rules, llm or both; without --llm it is the rules.
        sentences: The most conditions that one finding may combine.
        at_once: A table with more rows is read in pieces: a sample suggests, all other rows test.
        sample: How many rows of such a table are sampled to suggest weak spots.
        seed: The same seed gives the same run.
        fdr: Bound on the expected share of false findings, between 0 and 1.
        out: The run's folder, new or empty; by default a new one in runs/.
        blobs: Keep inputs elsewhere, e.g. s3://bucket/folder; by default in the run's folder.
        executor: Where the work is done: local, or on Ray, e.g. 'ray?source=4' or 'ray:auto?source_gpus=1'.
        watch: Who is told about the progress.

    Returns:
        The run, open for reading.
    """

def mine(
    encoder: str | _core.TextEncoder,
    *,
    reference: str | _core.TextEncoder,
    corpus: Any,
    pairs: int = 150,
    steer: str = '',
    llm: Any = None,
    validity: Any = None,
    threshold: float | None = None,
    gap: float = 0.2,
    calibrate: float | None = None,
    texts: int | None = None,
    noise: str | Path | None = None,
    passes: int = 3,
    written: int = 41,
    images: str | Path | None = None,
    downstream: str | _core.Source | _core.Generator | None = None,
    matcher: Any = None,
    budget: str = 'pairs=20000',
    seed: int = 0,
    fdr: float = 0.05,
    cache: str | None = None,
    out: str | Path | None = None,
    blobs: str | None = None,
    watch: _Watch | None = None,
) -> Run:
    """Find what an encoder of texts does not tell apart.

    Pairs of captions that it confuses and the reference tells apart are mined from a corpus and put into
    categories. New pairs of every category are then measured against captions with any word replaced, and
    confirmed on fresh ones. No language model is needed.

    Args:
        encoder: The encoder under test, e.g. world:encoder (see: weakspot list models).
        reference: A second encoder, which tells apart what the first one should.
        corpus: A file (one text a line), coco:FILE, snli:DIR, npz:FILE, world, datasets:NAME.
        pairs: How many pairs to mine from the corpus.
        steer: The topic that failures should matter to, e.g. "self-driving cars".
        llm: A language model that names failures and writes pairs: chat:…
        validity: Decides whether two texts differ: rules, world, hf:NLI-MODEL, chat:MODEL, python:…, or none.
        threshold: Alike is above this (published: 0.9); calibrated by default.
        gap: With --threshold: the reference must be lower by more than this.
        calibrate: Share of random pairs that are less alike than a mined one; 0.9999.
        texts: How many different texts to read from the corpus.
        noise: Phrases whose texts are left out, in place of the built-in list.
        passes: How often the language model reads the pairs.
        written: How many new pairs the language model writes per failure and stage.
        images: Captioned images: is each nearer its caption than an edited one?
        downstream: A text-to-image source that draws both texts of failing pairs.
        matcher: Says which text a drawn picture shows (with --downstream).
        budget: Any of pairs, tokens, dollars, seconds; e.g. pairs=20k,seconds=600.
        seed: The same seed gives the same run.
        fdr: Bound on the expected share of false findings, between 0 and 1.
        cache: Where embeddings are kept; by default in your cache folder.
        out: The run's folder, new or empty; by default a new one in runs/.
        blobs: Keep inputs elsewhere, e.g. s3://bucket/folder; by default in the run's folder.
        watch: Who is told about the progress.

    Returns:
        The run, open for reading.
    """

def map(
    target: str | _core.Target | _core.Generator | Any,
    *,
    concepts: str | Sequence[str] = '',
    images: str | Path = '',
    space: Any = 'image-125',
    task: str = '',
    documents: str | Path = '',
    search: str = 'auto',
    judge: str | _core.Judge = 'discrepancy',
    source: str | _core.Source | None = None,
    above: float | None = None,
    labels_file: str | Path | None = None,
    label: str = '',
    prediction: str = '',
    failed: str = '',
    group: str = '',
    parts: Any = '',
    budget: str = 'images=10000',
    fdr: float = 0.05,
    seed: int = 0,
    out: str | Path | None = None,
    blobs: str | None = None,
    executor: str | _Executor | _Cluster | None = 'local',
    watch: _Watch | None = None,
) -> Run:
    """Map where a model fails: which concepts, how much of them, together with which others.

    Each cell of a concept space says how to change a picture (rotated 10°, darkened 30 %). A search finds the
    cells that fail, and every cell gets a rate with an interval. Failing regions are put into words and
    confirmed on pictures that the search never saw. One quarter of the pictures is kept untouched for repair,
    and another for its verification.

    A table of results needs no model: its columns are the concepts, and the search reads its rows.

    Args:
        target: The model, e.g. world:classifier (see: weakspot list models), or a table of its results.
        concepts: Of a table: the columns to map over, e.g. distance,diameter,rotation.
        images: Labelled pictures: a folder (of folders by label, or with labels.jsonl), .npz, world:2000.
        space: image-125, image-5^k, image:rotate,fog,…, world, text-16, prompt-27, or a YAML file.
        task: image, text or generator; by default what the space is of.
        documents: Texts with summaries: .jsonl, or a folder; by default twenty that come with weakspot.
        search: auto, thompson, ucb, gp, tpe, dqn, ppo, dqn-micro, ppo-micro, random, exhaustive.
        judge: What a failure is, e.g. discrepancy?measure=doubt&epsilon=0.9.
        source: Draws the cells instead of the task's own source.
        above: Cells that fail at least this often are modes; by default, those far above the rest.
        labels_file: Names and parents of labels, as CSV, JSON or text.
        label: Of a table: the column with the right answers.
        prediction: Of a table: the column with the model's answers.
        failed: Of a table: what counts as a failure if not a wrong answer, e.g. 'loss > 2'.
        group: Of a table: the column whose groups are never split, e.g. patient.
        parts: Shares of the inputs, e.g. discovery=0.4,confirmation=0.1,repair=0.25,verification=0.25.
        budget: Limits: any of images, calls, tokens, dollars, seconds; e.g. images=20k,seconds=600.
        fdr: Bound on the expected share of false findings, between 0 and 1.
        seed: The same seed gives the same run.
        out: The run's folder, new or empty; by default a new one in runs/.
        blobs: Keep inputs elsewhere, e.g. s3://bucket/folder; by default in the run's folder.
        executor: Where the work is done: local, or on Ray, e.g. 'ray?source=4' or 'ray:auto?source_gpus=1'.
        watch: Who is told about the progress.

    Returns:
        The run, open for reading.
    """

def ask(
    target: str | _core.Target,
    *,
    benchmark: str | _core.Source | None = None,
    judge: str | _core.Judge = 'embedded',
    refused: str = 'default',
    contrast: bool = False,
    system: str | Sequence[str] = ('none',),
    stages: bool = False,
    vet: str | _core.LanguageModel | None = None,
    repeats: int = 1,
    limit: int | None = None,
    budget: str = 'calls=20000',
    seed: int = 0,
    fdr: float = 0.05,
    scenarios: int | None = None,
    stimulus: str | None = None,
    llm: str | _core.LanguageModel | None = None,
    source: str | _core.Source | None = None,
    pool: str | Path | None = None,
    out: str | Path | None = None,
    blobs: str | None = None,
    watch: _Watch | None = None,
) -> Run:
    """Find which harmless questions a chat model refuses, and why.

    Errors, blocks by the provider and empty answers never count as refusals. A resumed run does not ask again
    what was already answered.

    Args:
        target: The chat model, e.g. chat:openai/gpt-4o or replay:responses.jsonl; or a table of questions with answers.
        benchmark: The questions: mossbench:DIR, questions:FILE or xstest:FILE.
        judge: Says which answers refuse (see: weakspot list judges). Of several, separated by commas, each is asked only where the one before is unsure.
        refused: What counts as a refusal. default: refusals, and answers that only point elsewhere; strict: also partial answers, questions back, and what a filter stopped.
        contrast: Ask the harmful counterparts too, which should be refused.
        system: A system prompt: none, helpful, scrutiny, safety or a text file. Several are compared.
        stages: Ask refused questions again with help, to see why they were refused.
        vet: A chat model that checks whether each harmless question is harmless; rates are also shown without those it doubts.
        repeats: How often each question is asked.
        limit: The most harmless questions to ask, spread over the benchmark.
        budget: Any of calls, tokens, dollars, seconds; e.g. dollars=5,calls=1000.
        seed: The same seed gives the same run.
        fdr: Bound on the share of slices or descriptions that are wrongly called worse.
        scenarios: Instead of a benchmark: have up to this many new questions written, and find the kinds that are refused most.
        stimulus: With --scenarios: exaggerated-risk, negated-harm, counterintuitive, or own words.
        llm: With --scenarios: the chat model that writes them.
        source: With --scenarios: draws the scenes (see: weakspot list sources).
        pool: With --scenarios: pictures of a folder, found by the scene.
        out: The run's folder, new or empty; by default a new one in runs/.
        blobs: Keep inputs elsewhere, e.g. s3://bucket/folder; by default in the run's folder.
        watch: Who is told about the progress.

    Returns:
        The run, open for reading.
    """

def repair(
    run: str | Path,
    *,
    modes: str = 'preferred',
    method: str = 'full',
    target: str | _core.Target = '',
    layer: str = '',
    rate: float = 0.0,
    epochs: int = 0,
    learning_rate: float = 0.0,
    distil: float = 1.0,
    mirror: bool = True,
    reset_head: bool = False,
    draws: int = 10000,
    most: int = 2000,
    device: str = 'auto',
    seed: int = 0,
    out: str | Path | None = None,
    blobs: str | None = None,
    watch: _Watch | None = None,
) -> Run:
    """Train a model where it fails, and prove on untouched inputs what moved.

    It trains on the repair part of the inputs. Then it shows the model the same cases of the verification
    part before and after: failures removed, failures newly made, the inputs as they are, the whole landscape.
    A repair that trades one failure for another is reported as a trade. Classifiers, summarisers (hf:FOLDER),
    generators (diffusers:FOLDER, --method lora) and the text tower of world:encoder can be trained. The model
    is kept as ONNX or safetensors, with a card.

    Args:
        run: The folder of a map, a hunt or a mine.
        modes: Which modes to repair (of hunt or mine: which findings), e.g. 1,3; or preferred.
        method: full, last-layer, lora; data writes only the data set to train on.
        target: The model to repair, if not that of the run.
        layer: The name of the last layer, if it cannot be found.
        rate: Share of training inputs that are changed as the weak spots say; 0 takes the method's own (0.5; last-layer 0.35).
        epochs: The most rounds of training; 0 takes the method's own number.
        learning_rate: 0 takes the method's own.
        distil: How much of the training target is the model's earlier answer.
        mirror: Whether a mirrored picture means the same.
        reset_head: Start the last layer from scratch.
        draws: Pairs drawn over the whole landscape; 0 leaves this out.
        most: The most cases of each mode in the proof (generators: 200; slow on a CPU).
        device: auto, cpu, cuda.
        seed: The same seed gives the same run.
        out: The run's folder, new or empty; by default a new one in runs/.
        blobs: Keep inputs elsewhere, e.g. s3://bucket/folder; by default in the run's folder.
        watch: Who is told about the progress.

    Returns:
        The run, open for reading.
    """

def rare(
    target: str | _core.Target,
    *,
    label: str,
    target_label: str | None = None,
    source: str | _core.Source | _core.Generator = 'world:renderer',
    prompt: str = 'a realistic photograph of a {label} ({parent}).',
    labels_file: str | Path | None = None,
    sense: str | None = None,
    words: str = '',
    budget: str = 'images=20000',
    seed: int = 0,
    out: str | Path | None = None,
    blobs: str | None = None,
    watch: _Watch | None = None,
) -> Run:
    """Measure how often an image classifier fails where plain sampling would hardly see a failure.

    Images are moved step by step towards being misread, which takes far fewer of them: 40,000 for a factor of
    2 at one failure in 100,000. If the classifier gives no scores, or the source cannot move its images, they
    are simply drawn and counted, and the result says so.

    Args:
        target: The classifier, e.g. world:classifier (see: weakspot list models).
        label: The label whose failures are counted.
        target_label: Count only this wrong answer as a failure.
        source: What draws images from words (see: weakspot list sources).
        prompt: The plain prompt, with {label} and, if wanted, ({parent}).
        labels_file: Names and parents of labels, as CSV, JSON or text.
        sense: Which meaning of the label, if WordNet has several; for several labels, e.g. crane=5,cat=1.
        words: Sentences added to the prompt, e.g. "it is on a flower."
        budget: Limits: any of images, calls, tokens, dollars, seconds; e.g. images=20k,seconds=600.
        seed: The same seed gives the same run.
        out: The run's folder, new or empty; by default a new one in runs/.
        blobs: Keep inputs elsewhere, e.g. s3://bucket/folder; by default in the run's folder.
        watch: Who is told about the progress.

    Returns:
        The run, open for reading.
    """
