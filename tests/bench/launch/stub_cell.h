// The stub cell's actions, by spec.seed. Seeds below 100: a Record with status ok, at once.
#pragma once

namespace headroom {

enum StubSeed : int {
  kStubOom = 101,    // a Record with status oom and a peak
  kStubExit,         // exit code 7 and a few lines on stderr
  kStubKilled,       // SIGKILL
  kStubOomKilled,    // SIGKILL, and one more kill in the file $STUB_OOM_CONTROL
  kStubHang,         // prints "hanging PID" and never ends
  kStubHalf,         // half a Record, exit code 0
  kStubNoRecord,     // JSON that is not a Record
  kStubTwoRecords,   // two Records
  kStubTalkative,    // 10 MB on stderr, then ok
  kStubLong,         // ok, 10 MB of Record
  kStubFlood,        // 70 MB on stdout
  kStubGrandchild,   // ok, and leaves a process that holds its pipes
  kStubCrashAfter,   // ok, then SIGABRT
  kStubFailed,       // a Record with status failed; the process ends after it
  kStubSlow = 1000,  // and above: ok after 20 ms
};

}  // namespace headroom
