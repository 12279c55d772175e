#!/usr/bin/env bash
# Train what is missing in the weights folder, all at once on one GPU machine.
#
#   PYTHONPATH=src bash training/all.sh OUT CACHE [SECONDS]
#
# The cores draw one set of pictures after the other; each training starts as soon as its set is there and ends in
# time for the measurement. Logs, results and weights land in OUT, a line per event in OUT/log. CACHE wants 30 GB and
# should be memory (/dev/shm).
set -u
O=$1 C=$2 all=${3:-1660}
mkdir -p "$O" "$C"
export PYTHONUNBUFFERED=1 OMP_NUM_THREADS=1 PYTHONWARNINGS=ignore PYTHONPATH="src:training:${PYTHONPATH:-}"
began=$(date +%s)
now() { echo $(($(date +%s) - began)); }
left() { echo $(($1 - $(now))); }
say() { echo "[$(now)] $*" | tee -a "$O/log"; }
drawn() { until [ -e "$C/$1/done" ]; do sleep 1; done; }
go() {
  local name=$1
  shift
  say "start $name"
  python3 "$@" >"$O/$name.log" 2>&1
  say "end $name, code $?"
}
measure=$((all - 370)) # when all trainings must be over
small="--seed 2 --channels 32,64,96 --text-width 128 --text-layers 2"
fair="--arch fair --scenes balanced --width 56 --batch 1024 --mirror --compiled"

python3 training/pictures.py --cache "$C" prompts:600000000:3000:1 balanced:600000000:3000:0 natural:90000000000:2000:0 \
  prompts:400000000:200000:1 natural:200000000:300000:0 prompts:500000000:400000:1 balanced:90000000000:20000:0 \
  balanced:300000000:1100000:0 >"$O/pictures.log" 2>&1 &
pictures=$!

# A few steps of each: the compiler's results are kept for the real trainings.
drawn balanced-600000000-3000-0-64
go try-generator training/generator.py --cache "$C" --sets 600000000:3000 --vae-steps 40 --steps 60 --compiled --out "$C/try" &
# shellcheck disable=SC2086
go try-small training/generator.py --cache "$C" --sets 600000000:3000 --vae-steps 4 --steps 60 $small --compiled --out "$C/try-small" &
# shellcheck disable=SC2086
go try-fair training/classifier.py --cache "$C" $fair --first 600000000 --images 3000 --held-out 3000 --steps 60 --out "$C/try.onnx" &

drawn prompts-400000000-200000-1-64
go autoencoder training/generator.py --cache "$C" --sets 400000000:200000 --steps 0 --vae-steps 6000 --compiled \
  --vae-seconds 100 --out "$O/autoencoder" &
autoencoder=$!
drawn natural-200000000-300000-0-64
go captioner training/captioner.py --cache "$C" --images 300000 --first-prompted 400000000 --prompted 200000 \
  --held-out 2000 --steps 7000 --seconds 270 --out "$O" &
drawn prompts-500000000-400000-1-64
wait $autoencoder
go generator training/generator.py --cache "$C" --sets 400000000:200000,500000000:400000 --vae "$O/autoencoder/vae" \
  --steps 40000 --seconds $(left $((measure - 40))) --compiled --out "$O/generator" &
generator=$!
wait $pictures
(
  mkdir -p "$O/truth"
  cp carry/truth/*.csv "$O/truth/" 2>/dev/null
  W=src/weakspot/world/weights
  go truth training/truth.py --models $W/classifier-resnet-2.onnx,$W/classifier-vit-1.onnx,$W/classifier-vit-2.onnx \
    --workers 12 --out "$O/truth"
) &
truth=$!
# shellcheck disable=SC2086
go fair training/classifier.py --cache "$C" $fair --first 300000000 --images 1100000 --steps 24000 \
  --seconds $(left $((measure - 45))) --out "$O/classifier-fair.onnx" &
fairly=$!
until [ "$(left $((measure - 240)))" -le 0 ]; do sleep 1; done
# shellcheck disable=SC2086
go generator-small training/generator.py --cache "$C" --sets 400000000:200000,500000000:400000 \
  --vae "$O/autoencoder/vae" $small --steps 20000 --seconds $(left $((measure - 40))) --compiled --out "$O/generator-small" &
little=$!
wait $fairly $generator
cp src/weakspot/world/weights/{classifier.onnx,truth.csv} "$O"
go generated training/generated.py --generator "$O/generator" --weights "$O" --guidances 1.0,1.5,2.0,3.0,4.0 \
  --seconds $(left $((all - 60))) --batch 4000 --out "$O/generated" &
generated=$!
wait $little
go generated-small training/generated.py --generator "$O/generator-small" --weights "$O" \
  --guidances 1.0,1.5,2.0,3.0,4.0 --cell 0 --batch 4000 --out "$O/generated-small"
wait $generated $truth
say "all done"
touch "$O/all-done"
