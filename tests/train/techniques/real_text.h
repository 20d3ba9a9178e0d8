// Real text for training tests: the bytes of this project's documents as token ids. No torch here.
#pragma once

#include <string>

#include "tests/files/scratch_directory.h"
#include "tests/train/support/tiny_spec.h"

namespace headroom {

// A file of uint16 ids below 256, one per byte.
inline std::string write_real_text(const ScratchDirectory& scratch) {
  std::string text;
  for (const char* name :
       {"README.md", "docs/architecture.md", "docs/inside/measurement.md",
        "docs/planning/planning.md", "docs/step/profiling.md", "docs/inside/record.md",
        "docs/step/train.md", "docs/inside/virtual_gpu.md"}) {
    text += read_text(std::string(HEADROOM_SOURCES) + "/" + name);
  }
  std::string ids;
  for (const char byte : text) ids += {byte, '\0'};
  return scratch.write("real_text.bin", ids);
}

// A model that learns from it within a few hundred steps, each with new text.
inline RunSpec real_text_spec(const ScratchDirectory& scratch) {
  RunSpec spec = tiny_spec();
  spec.d_model = 64;
  spec.d_ff = 192;
  spec.layers = 2;
  spec.vocab_size = 256;
  spec.context_length = 64;
  spec.batch_size = 8;
  spec.learning_rate = 2e-3;
  spec.tokens = write_real_text(scratch);
  return spec;
}

}  // namespace headroom
