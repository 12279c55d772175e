#!/usr/bin/env bash
# Train the generators, the captioner and the verifier, and measure the generators, all at once on one GPU machine.
#
#   PYTHONPATH=src bash training/all.sh OUT CACHE [SECONDS]
#
# The cores draw pictures and layers; each training starts as soon as its set is there. What OUT holds already
# (autoencoder, generator, generator-small, captioner-image.onnx, classifier-fair.onnx) is not trained again. Logs,
# results and weights land in OUT, a line per event in OUT/log. CACHE wants 60 GB and should be memory (/dev/shm). A
# training is told when to end, so a step more or less depends on the machine; its results say how many it took.
set -u
O=$1 C=$2 all=${3:-1700}
mkdir -p "$O" "$C"
export PYTHONUNBUFFERED=1 OMP_NUM_THREADS=1 PYTHONWARNINGS=ignore PYTHONPATH="src:training:${PYTHONPATH:-}"
began=$(date +%s)
left() { echo $((began + $1 - $(date +%s))); }
say() { echo "[$(($(date +%s) - began))] $*" | tee -a "$O/log"; }
drawn() { until [ -e "$C/$1/done" ]; do sleep 1; done; }
go() {
  local name=$1
  shift
  say "start $name"
  python3 "$@" >"$O/$name.log" 2>&1
  say "end $name, code $?"
}
W=src/weakspot/world/weights
mkdir -p "$O/weights"
cp $W/classifier.onnx $W/truth.csv "$O/weights/"
measure=$((all - 110)) # when all trainings must be over
(
  python3 training/pictures.py --cache "$C" balanced:90000000000:20000:0 prompts:400000000:350000:1 \
    natural:200000000:400000:0 natural:90000000000:20000:0 >"$O/pictures.log" 2>&1
) &
(
  drawn "balanced-90000000000-20000-0-64"
  python3 training/layers.py --cache "$C/layers" --figures 2000000 >"$O/layers.log" 2>&1
) &

generator() { # NAME SECONDS OPTIONS
  local name=$1 seconds=$2
  shift 2
  [ -e "$O/$name/unet" ] && return
  go "$name" training/generator.py --cache "$C" --sets 400000000:350000 --vae "$O/autoencoder/vae" --compiled \
    --steps 40000 --seconds "$seconds" "$@" --out "$O/$name"
}
measured() { # NAME OPTIONS
  local name=$1
  shift
  go "$name-measured" training/generated.py --generator "$O/$name" --weights "$O/weights" --guidances 2.0,3.0,4.0 \
    "$@" --out "$O/$name-measured"
}
(
  drawn "prompts-400000000-350000-1-64"
  [ -e "$O/autoencoder/vae" ] || go autoencoder training/generator.py --cache "$C" --sets 400000000:200000 --steps 0 \
    --vae-steps 6000 --compiled --vae-seconds 100 --out "$O/autoencoder"
  generator generator 660
  generator generator-small 360 --seed 2 --channels 32,48,64 --text-width 96 --text-layers 2
  [ -e "$O/captioner-image.onnx" ] || go captioner training/captioner.py --cache "$C" --images 400000 \
    --first-prompted 400000000 --prompted 350000 --steps 9000 --seconds 330 --mirror --out "$O"
) &
others=$!
[ -e "$O/classifier-fair.onnx" ] || go fair training/classifier.py --cache "$C" --arch fair --scenes layers --width 64 \
  --batch 1024 --mirror --compiled --optimizer muon --steps 80000 --seconds $(($(left "$measure") - 90)) \
  --out "$O/classifier-fair.onnx"
wait $others
cp "$O/classifier-fair-both.onnx" "$O/weights/classifier-fair.onnx" # it looks both ways
measured generator --compiled --batch 2000 --seconds $(($(left "$all") - 60))
measured generator-small --cell 0
say "all done"
touch "$O/all-done"
