#!/usr/bin/env bats
# scripts/profile_attention.sh over a program that answers with made-up Records.

setup() {
  profile=$BATS_TEST_DIRNAME/../../scripts/profile_attention.sh
  export HEADROOM_BIN=$BATS_TEST_TMPDIR/headroom OUTPUT_DIR=$BATS_TEST_TMPDIR/out DEVICE=virtual:h200
  unset MODEL_SIZE CONTEXTS WARMUP_STEPS MEASURE_STEPS
  # Written out: 3 bytes per context squared; flash: 1000 per token. Beyond 500 tokens memory runs out.
  cat >"$HEADROOM_BIN" <<'STUB'
#!/usr/bin/env python3
import itertools, json, os, sys
words = sys.argv[1:]
if words[0] == "theory":
    print(json.dumps([{"title": "Kept for backward by one block", "rows": [
        {"source": "model/attention.cpp softmax: exp", "size_bytes": 1 << 30},
        {"source": "model/layers.cpp SwiGlu", "size_bytes": 5}]}]))
    sys.exit(0)
flags = dict(zip(words[1::2], words[2::2]))
status = 0
for size, context, attention in itertools.product(
        *(flags[name].split(",") for name in ("--model-size", "--context-length", "--attention"))):
    kept = 3 * int(context) ** 2 if attention == "eager" else 1000 * int(context)
    record = {"name": "cell", "status": "ok", "reason": "", "predicted": {"residual_bytes_per_block": kept},
              "peak_allocated_bytes": 10 * kept, "residual_bytes_per_block": kept,
              "spec": {"model_size": size, "context_length": int(context), "attention": attention,
                       "profile_type": flags["--profile-type"], "precision": flags["--precision"],
                       "batch_size": 1, "device": flags["--device"]}}
    if 500 < int(context) < 8192:
        record.update(status="oom", peak_allocated_bytes=None, residual_bytes_per_block=None)
        status = 3
    if attention == os.environ.get("STUB_UNSUPPORTED"):
        record.update(status="unsupported", reason="does not run here", predicted={})
        status = 3
    print(json.dumps(record))
sys.exit(status)
STUB
  chmod +x "$HEADROOM_BIN"
}

@test "every context is a row, with how both grow; out of memory is a row too, and no failure" {
  CONTEXTS=128,256,1024 run "$profile"
  echo "$output"
  [ "$status" -eq 0 ]
  table=$(<"$OUTPUT_DIR/attention_by_context.md")
  [[ "$table" == *"| 256 | 1.875 MiB | 192.000 KiB | S^2.00 | 2.441 MiB | 250.000 KiB | S^1.00 | 0.8 |"* ]]
  [[ "$table" == *"| 1024 | out of memory | 3.000 MiB (theory) | S^2.00 | out of memory | 1000.000 KiB (theory) | S^1.00 | 3.1 |"* ]]
  [ "$(sed -n 3p "$OUTPUT_DIR/attention_by_context.csv")" = 256,1966080,196608,S^2.00,2560000,256000,S^1.00,0.8 ]
}

@test "it says which contexts it runs" {
  run "$profile"
  [[ "$output" == *"contexts 128,256,512,1024,2048,4096,8192,16384, device virtual:h200"* ]]
  run "$profile" --contexts 128,256
  [[ "$output" == *"contexts 128,256, device virtual:h200"* ]]
}

@test "the guide's layer stands beside what the guide says" {
  run "$profile"
  [ "$status" -eq 0 ]
  table=$(<"$OUTPUT_DIR/attention_guide_layer.md")
  [[ "$table" == *"| eager | fp32 | ok | 192.000 MiB | 0 | 1.000 GiB | 8 GB |"* ]]
  [[ "$table" == *"| flash | bf16 | ok | 7.812 MiB | 0 | 1.000 GiB | about 100 MB |"* ]]
}

@test "a kernel that does not run is named, and the tables are written" {
  STUB_UNSUPPORTED=efficient run "$profile"
  echo "$output"
  [ "$status" -eq 3 ]
  [[ "$output" == *"cell (unsupported: does not run here)"* ]]
  grep -q '| efficient | fp32 | unsupported |' "$OUTPUT_DIR/attention_guide_layer.md"
}

@test "on the CPU it is left out, and said to be" {
  DEVICE=cpu run "$profile"
  [ "$status" -eq 0 ]
  [[ "$output" == *"left out on the CPU"* ]]
  [ ! -e "$OUTPUT_DIR/attention.jsonl" ]
}
