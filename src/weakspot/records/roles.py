"""What columns are, by the names that people usually give them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

#: Usual names, the likeliest first, without regard to case and separators.
USUAL: Final[Mapping[str, tuple[str, ...]]] = {
    role: tuple(names.split())
    for role, names in {
        "label": """
            label labels target targets ground_truth gt truth y_true true_label gt_label label_name true_class
            answer_key gold gold_label gold_answer correct_answer correct_label right_answer expected
            expected_answer expected_output reference reference_answer class class_name""",
        "prediction": """
            prediction predictions pred preds predicted predicted_label pred_label prediction_label
            predicted_class pred_class predicted_name y_pred y_hat model_output model_answer model_prediction
            model_response response output completion generated_text""",
        "score": """
            score probability confidence prob conf prediction_score pred_score predicted_probability
            pred_prob max_prob max_probability top_probability certainty""",
        "image": """
            image image_path image_file image_filename image_name img img_path file_name file file_path path
            picture photo""",
        "text": """
            text caption captions question prompt description descriptions justification sentence sentences
            alt_text instruction query transcript comment""",
        "group": """
            group group_id patient patient_id subject subject_id video video_id session session_id
            participant participant_id speaker speaker_id""",
        "id": "id uid uuid guid key sample_id example_id item_id question_id qid row_id image_id index",
        "correct": "correct is_correct acc accuracy passed pass exact_match success",
        "failed": "failed is_failed fail failure wrong is_wrong incorrect error is_error misclassified",
        # What follows from an answer rather than from the input: no words for a weak spot.
        "outcome": """
            loss losses nll cross_entropy entropy perplexity logit logits probs probabilities scores top1
            top5""",
    }.items()
}
#: The right answer beside a prediction, the model's beside a label.
_EITHER: Final = ("answer", "answers")


def plain(name: str) -> str:
    """A name without case and separators: "Ground-Truth" is "groundtruth"."""
    return re.sub(r"[\W_]+", "", name.casefold())


def usual_columns(role: str, names: Iterable[str]) -> Iterator[str]:
    """The columns whose name says this role, the likeliest first."""
    by_plain: dict[str, str] = {}
    for name in names:
        by_plain.setdefault(plain(name), name)
    for usual in USUAL[role]:
        if plain(usual) in by_plain:
            yield by_plain[plain(usual)]


def usual_column(role: str, names: Iterable[str]) -> str:
    return next(usual_columns(role, names), "")


def answers_in(names: Iterable[str], *, label: str = "", prediction: str = "") -> tuple[str, str]:
    """The columns of the right answer and of the model's; what is given is known already."""
    free = [name for name in names if name not in (label, prediction)]
    label = label or usual_column("label", free)
    prediction = prediction or usual_column("prediction", (name for name in free if name != label))
    either = next((name for name in free if plain(name) in _EITHER), "")
    if prediction and not label:
        label = either
    elif not prediction:
        prediction = either
    return label, prediction


def says(name: str, *roles: str) -> bool:
    """Whether this is a usual name for one of these roles; "probs.cat" is one for what "probs" is."""
    return plain(name.partition(".")[0]) in {plain(usual) for role in roles for usual in USUAL[role]}
