#include "bench/dryrun/breakdown/program_names.h"

#include <dlfcn.h>

#include <cstdint>
#include <string_view>

#include "bench/dryrun/breakdown/blocks.h"
#include "bench/dryrun/breakdown/category.h"
#include "bench/dryrun/breakdown/context.h"
#include "bench/dryrun/breakdown/watch.h"

namespace headroom {
namespace {

uint32_t number_of_word(const char* word) { return word == nullptr ? 0 : number_of(word); }

bool memory_is_named(const void* address, const char* use, const char* owner) {
  if (use == nullptr) return false;
  const std::optional<Category> purpose = category_of_name(use);
  return purpose &&
         name_block(reinterpret_cast<uintptr_t>(address), *purpose, number_of_word(owner));
}

void named_step_ends(const char* optimizer) { end_step_of(number_of_word(optimizer)); }

}  // namespace

void hear_names() {
  static constexpr OnNames kNames = {
      .memory = memory_is_named, .step_begins = begin_optimizer, .step_ends = named_step_ends};
  auto* const listen =
      reinterpret_cast<decltype(headroom_on_names)*>(dlsym(RTLD_DEFAULT, "headroom_on_names"));
  if (listen != nullptr) listen(&kNames);
}

}  // namespace headroom
