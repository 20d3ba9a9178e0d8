#!/usr/bin/env bats
# The picture of a step is drawn from its snapshot, and only when the Record says the same.

setup() {
  cd "$BATS_TEST_TMPDIR" || exit
  draw=$BATS_TEST_DIRNAME/../../scripts/lib/step_picture.py
  python3 -I - <<'END'
import json, pickle
events, annotations = [], []
def event(action, address, size):
    events.append({"action": action, "addr": address, "size": size, "time_us": len(events)})
def scope(name, stage):
    annotations.append({"name": name, "stage": stage, "time_us": len(events) - 0.5})
event("free_completed", 3, 8)   # a gradient of the last step
scope("forward", "START")
event("alloc", 4, 100)          # kept for backward
event("alloc", 5, 7)            # not kept
event("free_completed", 5, 7)
scope("forward", "END")
event("alloc", 6, 1)            # the loss
scope("loss", "END")
event("alloc", 3, 8)            # a gradient
event("free_completed", 6, 1)
event("free_completed", 4, 100)
scope("backward", "END")
event("alloc", 7, 20)           # a new moment
event("free_completed", 2, 20)  # the old one
blocks = [{"address": a, "requested_size": s, "state": "active_allocated"} for a, s in ((1, 10), (3, 8), (7, 20))]
with open("snapshot.pickle", "wb") as file:
    pickle.dump({"segments": [{"blocks": blocks}], "device_traces": [events], "external_annotations": annotations}, file)
peak = {"parameters": 10, "workspaces": 0, "other": 0, "optimizer_state": 20, "activations": 101, "gradients": 8,
        "temporaries": 0}
record = {"name": "tiny", "spec": {"device": "virtual:h200", "batch_size": 4}, "peak_phase": "backward"}
with open("record.json", "w") as file:
    json.dump(record | {"categories_at_peak_bytes": peak}, file)
with open("wrong.json", "w") as file:
    json.dump(record | {"categories_at_peak_bytes": peak | {"gradients": 9}}, file)
END
}

@test "every purpose has its area, and twice the same snapshot the same picture" {
  run python3 -I "$draw" record.json snapshot.pickle
  echo "$output"
  [ "$status" -eq 0 ]
  [ "$(grep -c '<polygon' <<<"$output")" -eq 5 ]
  [[ "$output" == '<svg '*'</svg>' ]]
  [ "$output" = "$(python3 -I "$draw" record.json snapshot.pickle)" ]
}

@test "nothing is drawn of a Record that says otherwise" {
  run python3 -I "$draw" wrong.json snapshot.pickle
  [ "$status" -eq 3 ]
  [ "$output" = "gradients: 8 bytes by lifetimes, 9 in the Record" ]
}
