// What is known of one of libtorch's operations, and its result on the host.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "bench/dryrun/values/card_memory.h"

namespace headroom {

// What becomes of an argument that is a tensor.
enum class Use {
  kRead,
  kChanged,      // read and written
  kOverwritten,  // written, whatever it was
  kOut,          // as kOverwritten, and its size is the operation's choice
};

// The result of an operation on a mask whose elements are all equal: none, that value, or not it.
enum class OfUniform { kNothing, kSame, kOpposite };

// The value that an operation copies to the host while it runs. kVerdict: a bool that it returns.
// kCount: the number of its results. kFound: the result of a search; libtorch asserts that it found
// something (mode of more than 2,048 values). kValid: a check of its arguments (no repeat is
// negative).
enum class Inside { kNothing, kVerdict, kCount, kFound, kValid };

struct Operation {
  c10::OperatorHandle handle;
  std::vector<Use> arguments;
  // Of its returns: memory of its own, neither an argument nor a view of one.
  std::vector<bool> is_made;
  bool is_computed = true;        // its result follows from its arguments
  bool absorbs = false;           // of integers; one argument may decide alone: true | x, 0 * x
  std::optional<bool> of_finite;  // its result for every finite number: of isnan false
  OfUniform of_uniform = OfUniform::kNothing;
  Inside inside = Inside::kNothing;
  bool is_view = false;    // it writes nothing and makes nothing
  bool is_resize = false;  // what it adds nobody has written yet
};

// Cached by the schema; nullptr for what is none of libtorch's own operations, or writes what its
// schema does not say.
const Operation* find_operation(const at::RecordFunction& function);

// Those of the results that are made, lie on the card, are small and not known yet; none when one
// of them is something else.
std::vector<at::Tensor> made_on_card(const Operation& operation,
                                     const std::vector<c10::IValue>& outputs);
// All results that are made, of any size, known or not.
std::vector<at::Tensor> made_by(const Operation& operation,
                                const std::vector<c10::IValue>& outputs);

// Answers the reads of kFound and kValid: a search finds the first element, and the arguments are
// valid.
void answer_well(const Operation& operation);

// Gives what it reads inside.
void answer_inside(const Operation& operation, std::vector<c10::IValue> arguments);

struct Result {
  at::Tensor on_card;
  at::Tensor on_host;
};
// An operation's arguments on the host; where some of them are guesses, also with the other guess.
struct HostArguments {
  std::vector<c10::IValue> values;
  std::optional<std::vector<c10::IValue>> otherwise;
};
// Runs it on the host and writes what it made and changed to the card.
// Nothing where a guess matters.
void compute(const Operation& operation, HostArguments arguments,
             const std::vector<at::Tensor>& made, std::vector<Result> results);

}  // namespace headroom
