#include "bench/dryrun/values/operation.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "bench/dryrun/values/missing_kernels.h"
#include "bench/dryrun/values/routing.h"
#include "bench/dryrun/values/stand_in.h"

namespace headroom {
namespace {

using c10::DispatchKey;

const std::set<std::string> kOverwriting = {"aten::copy_", "aten::fill_", "aten::zero_",
                                            "aten::_foreach_copy_", "aten::_foreach_zero_"};

const std::set<std::string> kMoving = {"aten::copy_", "aten::_to_copy", "aten::clone",
                                       "aten::fill_", "aten::zero_",    "aten::zeros_like"};

// If an argument matters, all bits 0 and all bits 1 give different results.
const std::set<std::string> kAbsorbing = {
    "aten::__and__",    "aten::__or__",      "aten::bitwise_and", "aten::bitwise_or",
    "aten::logical_or", "aten::logical_and", "aten::mul"};

// See Note [Numbers that nobody knows are finite] in bench/dryrun/values/uniform_masks.h.
const std::map<std::string, bool> kOfFinite = {{"aten::isnan", false},    {"aten::isinf", false},
                                               {"aten::isposinf", false}, {"aten::isneginf", false},
                                               {"aten::isfinite", true},  {"aten::isreal", true}};

const std::map<std::string, OfUniform> kOfUniform = {{"aten::all", OfUniform::kSame},
                                                     {"aten::any", OfUniform::kSame},
                                                     {"aten::logical_not", OfUniform::kOpposite},
                                                     {"aten::bitwise_not", OfUniform::kOpposite}};

const std::set<std::string> kOfDistinct = {"aten::_unique", "aten::_unique2", "aten::unique_dim",
                                           "aten::unique_consecutive",
                                           "aten::unique_dim_consecutive"};

// Operations that write running statistics, declared as inputs in their schemas, or call the
// program back.
bool writes_in_secret(const std::string& name) {
  return name == "aten::_backward" || name.find("batch_norm") != std::string::npos ||
         name.find("instance_norm") != std::string::npos || name.find("_rnn") != std::string::npos;
}

Use use_of(const c10::Argument& argument, bool is_overwriting, size_t position) {
  const c10::AliasInfo* alias = argument.alias_info();
  if (alias == nullptr || !alias->isWrite()) return Use::kRead;
  if (argument.is_out()) return Use::kOut;
  return is_overwriting && position == 0 ? Use::kOverwritten : Use::kChanged;
}

std::optional<Operation> operation_of(const c10::OperatorName& name) {
  const auto handle = c10::Dispatcher::singleton().findOp(name);
  if (!handle || !handle->hasSchema()) return std::nullopt;
  const c10::FunctionSchema& schema = handle->schema();
  if (name.name.rfind("aten::", 0) != 0 || writes_in_secret(name.name)) return std::nullopt;
  Operation operation{.handle = *handle, .arguments = {}, .is_made = {}, .is_computed = true};
  const bool is_overwriting = kOverwriting.count(name.name) != 0;
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    operation.arguments.push_back(use_of(argument, is_overwriting, i));
    if (argument.name() == "generator") operation.is_computed = false;
  }
  for (const c10::Argument& result : schema.returns()) {
    operation.is_made.push_back(result.alias_info() == nullptr);
  }
  const bool writes = std::any_of(operation.arguments.begin(), operation.arguments.end(),
                                  [](Use use) { return use != Use::kRead; });
  const bool makes = std::count(operation.is_made.begin(), operation.is_made.end(), true) > 0;
  operation.is_view = !writes && !makes;
  operation.is_resize = name.name == "aten::resize_";
  operation.absorbs = !writes && kAbsorbing.count(name.name) != 0;
  operation.selects = name.name == "aten::topk" && !writes;
  operation.copies_lists = name.name == "aten::_foreach_copy_";
  operation.moves = kMoving.count(name.name) != 0;
  if (const auto one = kOfFinite.find(name.name); !writes && one != kOfFinite.end()) {
    operation.of_finite = one->second;
  }
  if (const auto one = kOfUniform.find(name.name); !writes && one != kOfUniform.end()) {
    operation.of_uniform = one->second;
  }
  if (name.name == "aten::equal") operation.inside = Inside::kVerdict;
  if (name.name == "aten::nonzero") operation.inside = Inside::kCount;
  if (kOfDistinct.count(name.name) != 0) operation.inside = Inside::kDistinct;
  if (name.name == "aten::mode") operation.inside = Inside::kFound;
  if (name.name == "aten::repeat_interleave") operation.inside = Inside::kValid;
  if (operation.inside == Inside::kVerdict) operation.is_view = false;  // a plain bool comes back
  if (handle->hasTag(at::Tag::nondeterministic_seeded)) operation.is_computed = false;
  if (name.name.rfind("aten::empty", 0) == 0 || name.name.rfind("aten::new_empty", 0) == 0 ||
      name.name.rfind("aten::resize", 0) == 0 || name.name.rfind("aten::set_", 0) == 0) {
    operation.is_computed = false;
  }
  return operation;
}

class Silence : public c10::WarningHandler {
 public:
  void process(const c10::Warning&) override {}
};

// Ignores the dispatch state of the program's thread. False if the CPU has no such kernel, or
// refuses the values.
bool run_on_host(const Operation& operation, std::vector<c10::IValue>& stack) {
  Silence silence;
  const c10::WarningUtils::WarningHandlerGuard quiet(&silence);
  const c10::impl::ExcludeDispatchKeyGuard below(
      c10::autograd_dispatch_keyset | c10::autocast_dispatch_keyset | wrappers() |
      c10::DispatchKeySet({DispatchKey::ADInplaceOrView, DispatchKey::PythonTLSSnapshot,
                           DispatchKey::FuncTorchDynamicLayerFrontMode,
                           DispatchKey::FuncTorchDynamicLayerBackMode}));
  try {
    if (auto result = missing_on_cpu(operation.handle.operator_name(), stack)) {
      stack = {std::move(*result)};
      return true;
    }
    operation.handle.callBoxed(&stack);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

namespace {

void add_tensors(std::vector<at::Tensor>& tensors, const c10::IValue& value) {
  if (value.isTensor()) {
    tensors.push_back(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& one : value.toTensorVector()) tensors.push_back(one);
  }
}

}  // namespace

std::vector<at::Tensor> made_by(const Operation& operation,
                                const std::vector<c10::IValue>& outputs) {
  std::vector<at::Tensor> made;
  for (size_t i = 0; i < outputs.size() && i < operation.is_made.size(); ++i) {
    if (operation.is_made[i]) add_tensors(made, outputs[i]);
  }
  return made;
}

const Operation* find_operation(const at::RecordFunction& function) {
  thread_local std::unordered_map<const char*, std::optional<Operation>> known;
  const auto found = known.find(function.name());
  if (found != known.end()) return found->second ? &*found->second : nullptr;
  // The name of a scope that is not an operation is freed with it.
  const auto name = function.operator_name();
  if (!name) return nullptr;
  auto& entry = known[function.name()] = operation_of(*name);
  return entry ? &*entry : nullptr;
}

uint64_t most_bytes(const Operation& operation, const at::Tensor& tensor) {
  if (!is_routing()) return kMostBytes;
  const bool is_cheap = operation.moves || at::isIntegralType(tensor.scalar_type(), true);
  return is_cheap ? kMostRouted : kMostBytes;
}

std::vector<at::Tensor> made_on_card(const Operation& operation,
                                     const std::vector<c10::IValue>& outputs) {
  std::vector<at::Tensor> made = made_by(operation, outputs);
  const auto is_fit = [&](const at::Tensor& tensor) {
    return tensor.defined() && is_plain(tensor) && tensor.is_cuda() &&
           bytes_of(tensor) <= most_bytes(operation, tensor);
  };
  if (!std::all_of(made.begin(), made.end(), is_fit)) return {};
  const bool are_known = !made.empty() && std::all_of(made.begin(), made.end(), is_known);
  return are_known ? std::vector<at::Tensor>{} : made;
}

void compute(const Operation& operation, HostArguments arguments,
             const std::vector<at::Tensor>& made, std::vector<Result> results) {
  if (!results.empty() && std::all_of(results.begin(), results.end(), [](const Result& result) {
        return is_known(result.on_card);
      })) {
    results.clear();  // a called operation has written them
  }
  if (results.empty() && made.empty()) return;
  if (!run_on_host(operation, arguments.values)) return;
  const std::vector<at::Tensor> on_host = made_by(operation, arguments.values);
  if (on_host.size() != made.size() && !made.empty()) return;
  if (arguments.otherwise) {
    if (!run_on_host(operation, *arguments.otherwise)) return;
    const std::vector<at::Tensor> otherwise = made_by(operation, *arguments.otherwise);
    const auto same = [](const at::Tensor& a, const at::Tensor& b) { return a.equal(b); };
    if (!std::equal(on_host.begin(), on_host.end(), otherwise.begin(), otherwise.end(), same)) {
      return;
    }
  }
  for (size_t i = 0; i < made.size(); ++i) results.push_back({made[i], on_host[i]});
  for (const Result& result : results) write(result.on_card, result.on_host);
}

// thrust::find reads a pair of "found" and an index. thrust::max_element reads the same number of
// bytes, as a largest count of 1 at index 0.
void answer_well(const Operation& operation) {
  const int64_t found[] = {1, 0};
  const bool is_valid = true;
  if (operation.inside == Inside::kFound) stand_in().answer_all(found, sizeof found);
  if (operation.inside == Inside::kValid) stand_in().answer_all(&is_valid, sizeof is_valid);
  if (operation.inside == Inside::kDistinct) stand_in().suppose_all(1);
}

void answer_inside(const Operation& operation, std::vector<c10::IValue> arguments) {
  if (!run_on_host(operation, arguments) || arguments.size() != 1) return;
  if (operation.inside == Inside::kVerdict && arguments[0].isBool()) {
    const bool verdict = arguments[0].toBool();
    stand_in().answer_next(&verdict, sizeof verdict);
  } else if (operation.inside == Inside::kCount && arguments[0].isTensor()) {
    const auto count = static_cast<int>(arguments[0].toTensor().size(0));
    stand_in().answer_next(&count, sizeof count);
  }
}

}  // namespace headroom
