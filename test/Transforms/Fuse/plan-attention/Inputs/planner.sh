#!/bin/sh
# Answers as hone-plan-attention does, for a library that takes widths of multiples of 8 and whose workspace is as many
# bytes as elements lie between two positions of a query. PLANNER names another library, or way to end; PROBLEMS a file
# for the input.
for argument; do
  case $argument in --out=*) out=${argument#--out=} ;; esac
done
case $PLANNER in
  lost) echo "error: libcudnn_graph.so.9: cannot be opened" >&2; exit 1 ;;
  crash) kill -SEGV $$ ;;
  silent) exit 3 ;;
  unnamed) ;;
  *) echo "cudnn 9.19.0" ;;
esac
while read -r line; do
  if [ -n "$PROBLEMS" ]; then echo "$line" >> "$PROBLEMS"; fi
  query=${line#* query } query=${query%% *} bytes=${query#*,} bytes=${bytes%,*}
  width=${line#* width } width=${width%% *}
  case $line in *query_grad*) grad=${line#* query_grad } grad=${grad%% *} ;; *) grad=$query ;; esac
  case $PLANNER:$line in
    short:*) exit 0 ;;
    odd:*) echo "perhaps $bytes"; continue ;;
    nofile:*) echo "plan $bytes missing.json"; continue ;;
    forward:backward*) echo "refused no gradients"; continue ;;
    beside:*) if [ "$grad" != "$query" ]; then echo "refused gradients lie elsewhere"; continue; fi ;;
    more:*) if [ "$grad" != "$query" ]; then bytes=1000000; fi ;;
    any:*) ;;
    *) if [ $((width % 8)) -ne 0 ]; then echo "refused width $width, expected a multiple of 8"; continue; fi ;;
  esac
  echo "{\"problem\": \"$line\"}" > "$out/$bytes.json"
  echo "plan $bytes $bytes.json"
done
