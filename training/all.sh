#!/usr/bin/env bash
# Train what is missing in the weights folder, all at once on one GPU machine. Not yet run as a whole.
#
#   PYTHONPATH=src bash training/all.sh OUT CACHE
#
# The cores draw one set of pictures after the other; each training starts as soon as its set is there. Logs, results
# and weights land in OUT, a line per event in OUT/log. CACHE wants 30 GB and should be memory (/dev/shm).
set -u
O=$1 C=$2
mkdir -p "$O" "$C"
export PYTHONUNBUFFERED=1 OMP_NUM_THREADS=1 PYTHONWARNINGS=ignore PYTHONPATH="src:training:${PYTHONPATH:-}"
began=$(date +%s)
say() { echo "[$(($(date +%s) - began))] $*" | tee -a "$O/log"; }
drawn() { until [ -e "$C/$1/done" ]; do sleep 1; done; }
go() {
  local name=$1
  shift
  say "start $name"
  python3 "$@" >"$O/$name.log" 2>&1
  say "end $name, code $?"
}

python3 training/pictures.py --cache "$C" natural:90000000000:20000:0 prompts:400000000:200000:1 \
  natural:200000000:300000:0 prompts:500000000:700000:1 balanced:90000000000:20000:0 balanced:300000000:1200000:0 \
  >"$O/pictures.log" 2>&1 &

drawn prompts-400000000-200000-1-64
go autoencoder training/generator.py --cache "$C" --first 400000000 --images 200000 --steps 0 --vae-steps 6000 \
  --vae-seconds 150 --out "$O/autoencoder" &
autoencoder=$!
drawn natural-200000000-300000-0-64
go captioner training/captioner.py --cache "$C" --images 300000 --first-prompted 400000000 --prompted 150000 \
  --steps 5500 --seconds 260 --out "$O" &
drawn prompts-500000000-700000-1-64
wait $autoencoder
go generator training/generator.py --cache "$C" --images 700000 --vae "$O/autoencoder/vae" --steps 20000 \
  --seconds 620 --out "$O/generator" &
generator=$!
drawn balanced-300000000-1200000-0-64
go fair training/classifier.py --cache "$C" --arch fair --scenes balanced --first 300000000 --images 1200000 \
  --width 56 --steps 16000 --batch 1024 --mirror --out "$O/classifier-fair.onnx" &
fair=$!
wait $generator
go generator-small training/generator.py --cache "$C" --images 700000 --vae "$O/autoencoder/vae" --seed 2 \
  --channels 32,64,96 --text-width 128 --text-layers 2 --steps 8000 --seconds 170 --out "$O/generator-small" &
small=$!
wait $fair
cp src/weakspot/world/weights/{classifier.onnx,truth.csv} "$O"
go generated training/generated.py --generator "$O/generator" --weights "$O" --guidances 2.0,1.0,1.5,3.0,4.0 \
  --cell 64 --out "$O/generated"
wait $small
go generated-small training/generated.py --generator "$O/generator-small" --weights "$O" \
  --guidances 2.0,1.5,3.0,4.0 --cell 0 --out "$O/generated-small"
say "all done"
touch "$O/all-done"
