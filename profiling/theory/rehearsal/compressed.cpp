#include "profiling/theory/rehearsal/compressed.h"

#include <algorithm>
#include <string_view>

#include "profiling/theory/compressed.h"
#include "profiling/theory/rehearsal/operations.h"
#include "profiling/theory/rehearsal/reduce.h"
#include "profiling/theory/rehearsal/run.h"
#include "train/techniques/quantize_chunk.h"
#include "train/techniques/shape_nodes.h"

namespace headroom {
namespace {

bool is_parameters(const ShapeTensor& tensor) {
  const Node* node = tensor.made_by.get();
  while (node != nullptr && node->next.size() == 1 && changes_shape_or_type_only(node->name)) {
    node = node->next.front().get();
  }
  return node != nullptr && std::string_view(node->name) == "AccumulateGrad";
}

// What is made of one part of a storage: rows of `width` numbers.
struct Part {
  Run& run;
  int64_t rows;
  int64_t width;

  ShapeTensor column(DType dtype) const { return empty(run, {rows, 1}, dtype); }
  ShapeTensor all(DType dtype) const { return empty(run, {rows, width}, dtype); }
};

// What a part takes is gone when the next begins: from the second on they find the allocator as
// they left it, and those after it change nothing.
template <typename Visit>
void for_each_part(Run& run, int64_t numbers, int64_t block, const Visit& visit) {
  constexpr int64_t kThatDiffer = 2;
  const int64_t whole = numbers / block;
  const int64_t most = std::max<int64_t>(kQuantizeChunk / block, 1);
  for (int64_t i = 0; i < std::min(kThatDiffer, whole / most); ++i) visit(Part{run, most, block});
  if (whole % most > 0) visit(Part{run, whole % most, block});
  if (numbers % block > 0) visit(Part{run, 1, numbers % block});
}

// encode() of quantize.cpp.
void encode(const Part& part, DType type) {
  const ShapeTensor low = part.column(type);
  const ShapeTensor high = part.column(type);
  meet_in_memory(
      part.run,
      {.outputs = part.rows, .inputs = part.width, .partial_bytes = 2 * element_size(type)});
  ShapeTensor largest;
  {
    const ShapeTensor negative = part.column(type);
    largest = part.column(type);
    if (type != DType::kFp32) largest = part.column(DType::kFp32);
  }
  part.column(DType::kFp32);  // div_out() by a number divides, then copies
  part.column(DType::kFp32);  // largest - largest
  const ShapeTensor scaled = part.all(DType::kFp32);
}

struct Quantized {
  ShapeTensor codes;
  ShapeTensor scales;
};

Quantized quantize(const ShapeTensor& tensor, const Activations& activations) {
  Run& run = *tensor.run;
  run.memory.place.operation = "quantize";
  const int64_t numbers = tensor.storage->bytes() / element_size(tensor.dtype);
  const bool int8 = activations.form == ActivationForm::kInt8;
  Quantized result;
  result.codes = empty(run, {numbers}, int8 ? DType::kInt8 : DType::kFp8);
  result.scales = empty(run, {scales_of(numbers, activations.block)}, DType::kFp32);
  for_each_part(run, numbers, activations.block,
                [&](const Part& part) { encode(part, tensor.dtype); });
  return result;
}

// Into numbers that are there.
void dequantize(Run& run, int64_t numbers, DType type, int64_t block) {
  if (type == DType::kFp32) return;
  for_each_part(run, numbers, block, [](const Part& part) { part.all(DType::kFp32); });
}

}  // namespace

// What is kept of one storage.
class CompressedShapes::Whole {
 public:
  Whole(const ShapeTensor& tensor, const Activations& activations)
      : quantized_(quantize(tensor, activations)), type_(tensor.dtype), block_(activations.block) {}

  DType type() const { return type_; }
  void add_save() { ++saves_; }
  void remove_save() { --saves_; }

  ShapeTensor decoded() {
    if (!decoded_.defined()) {
      Run& run = *quantized_.codes.run;
      const char* const node = run.memory.place.operation;
      run.memory.place.operation = "dequantize";
      decoded_ = empty(run, quantized_.codes.sizes, type_);
      dequantize(run, decoded_.elements(), type_, block_);
      run.memory.place.operation = node;
      waiting_ = saves_;
    }
    ShapeTensor numbers = decoded_;
    if (--waiting_ <= 0) decoded_ = {};
    return numbers;
  }

 private:
  Quantized quantized_;
  DType type_;
  int64_t block_;
  int64_t saves_ = 0;    // that have not been released
  int64_t waiting_ = 0;  // of these, for what is decoded
  ShapeTensor decoded_;
};

// One save.
class CompressedShapes::View final : public PackedShape {
 public:
  View(std::shared_ptr<Whole> whole, const ShapeTensor& tensor)
      : whole_(std::move(whole)), sizes_(tensor.sizes), strides_(tensor.strides) {
    whole_->add_save();
  }
  ~View() override { whole_->remove_save(); }
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  ShapeTensor unpack() override {
    ShapeTensor numbers = whole_->decoded();
    numbers.sizes = sizes_;
    numbers.strides = strides_;
    return numbers;
  }

 private:
  std::shared_ptr<Whole> whole_;
  Dims sizes_;
  Dims strides_;
};

// A storage that was packed. The weak reference keeps the address from being another storage's.
struct CompressedShapes::Known {
  std::weak_ptr<Storage> original;
  std::weak_ptr<Whole> packed;
};

CompressedShapes::CompressedShapes(const Activations& activations) : activations_(activations) {}

CompressedShapes::~CompressedShapes() = default;

bool CompressedShapes::takes(const ShapeTensor& tensor) const {
  if (!is_low_or_single(tensor.dtype) || !tensor.requires_grad()) return false;
  if (tensor.dim() == 0 || tensor.size(-1) == 1) return false;
  const int64_t bytes = tensor.storage->bytes();
  return bytes > 0 && bytes >= activations_.min_bytes && !is_parameters(tensor);
}

std::shared_ptr<PackedShape> CompressedShapes::pack(const ShapeTensor& tensor) {
  const auto it = known_.find(tensor.storage.get());
  if (it != known_.end() && !it->second.original.expired()) {
    const std::shared_ptr<Whole> packed = it->second.packed.lock();
    if (packed && packed->type() == tensor.dtype) return std::make_shared<View>(packed, tensor);
  }
  auto packed = std::make_shared<Whole>(tensor, activations_);
  forget_the_dead();
  known_.insert_or_assign(tensor.storage.get(), Known{tensor.storage, packed});
  return std::make_shared<View>(std::move(packed), tensor);
}

void CompressedShapes::forget_the_dead() {
  if (known_.size() < look_at_) return;
  std::erase_if(known_, [](const auto& entry) {
    return entry.second.original.expired() || entry.second.packed.expired();
  });
  look_at_ = std::max<size_t>(64, 2 * known_.size());
}

}  // namespace headroom
