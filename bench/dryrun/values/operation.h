// The properties of a libtorch operation, and its result on the host.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "bench/dryrun/values/card_memory.h"

namespace headroom {

// The use of a tensor argument.
enum class Use {
  kRead,
  kChanged,      // read and written
  kOverwritten,  // written, old value ignored
  kOut,          // like kOverwritten, with a size chosen by the operation
};

// The result of an operation on a mask of equal elements: none, that value, or its negation.
enum class OfUniform { kNothing, kSame, kOpposite };

// The value that an operation copies to the host while it runs. kVerdict: a bool that it returns.
// kCount: the number of its results. kDistinct: the number of distinct elements. kFound: the result
// of a search; libtorch asserts that it found something (mode of more than 2,048 values). kValid: a
// check of its arguments (no repeat is negative).
enum class Inside { kNothing, kVerdict, kCount, kDistinct, kFound, kValid };

struct Operation {
  c10::OperatorHandle handle;
  std::vector<Use> arguments;
  // For each result: has its own memory, is neither an argument nor a view of one.
  std::vector<bool> is_made;
  bool is_computed = true;        // its result follows from its arguments
  bool absorbs = false;           // on integers, one argument can determine it: true | x, 0 * x
  std::optional<bool> of_finite;  // its result for every finite number: false for isnan
  OfUniform of_uniform = OfUniform::kNothing;
  Inside inside = Inside::kNothing;
  bool selects = false;       // the largest elements of rows: aten::topk
  bool moves = false;         // computes nothing: copies, casts, fills
  bool copies_lists = false;  // aten::_foreach_copy_
  bool is_view = false;       // writes nothing and makes nothing
  bool is_resize = false;     // may add unwritten memory
};

// Cached by name; nullptr if it is not one of libtorch's own operations, or writes more than its
// schema declares.
const Operation* find_operation(const at::RecordFunction& function);

// The bytes up to which an operation on such a tensor is computed.
uint64_t most_bytes(const Operation& operation, const at::Tensor& tensor);
// The made results, if all are small tensors on the card and not all are known yet; otherwise none.
std::vector<at::Tensor> made_on_card(const Operation& operation,
                                     const std::vector<c10::IValue>& outputs);
// All made results, of any size, known or not.
std::vector<at::Tensor> made_by(const Operation& operation,
                                const std::vector<c10::IValue>& outputs);

// Answers the reads of kFound and kValid: a search finds the first element, and the arguments are
// valid. Of kDistinct it supposes one: elements that are all zeros are one distinct element.
void answer_well(const Operation& operation);

// Answers the operation's own read with the result on the host.
void answer_inside(const Operation& operation, std::vector<c10::IValue> arguments);

struct Result {
  at::Tensor on_card;
  at::Tensor on_host;
};
// An operation's arguments on the host; if some of them are guesses, also with the other guess.
struct HostArguments {
  std::vector<c10::IValue> values;
  std::optional<std::vector<c10::IValue>> otherwise;
};
// Runs it on the host and writes the made and changed tensors to the card. Writes nothing if a
// guess matters.
void compute(const Operation& operation, HostArguments arguments,
             const std::vector<at::Tensor>& made, std::vector<Result> results);

}  // namespace headroom
