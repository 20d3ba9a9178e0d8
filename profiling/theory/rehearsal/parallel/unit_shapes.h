// A unit of what replicas share, with shapes for tensors. Read beside train/parallel/
// fsdp_unit.h. No torch here.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "profiling/theory/rehearsal/model.h"
#include "train/parallel/data/flat_parameter.h"
#include "train/parallel/ranks/collective.h"

namespace headroom {

class UnitShapes {
 public:
  // zero: 1 to 3; part: which of the `parts` this replica has, whether others have it too. name:
  // "block", a literal.
  UnitShapes(const char* name, std::vector<Parameter*> parameters, int64_t zero, int64_t parts,
             int64_t part, bool has_copies);
  UnitShapes(const UnitShapes&) = delete;
  UnitShapes& operator=(const UnitShapes&) = delete;

  const std::vector<Parameter*>& parameters() const { return parameters_; }
  const FlatParameter& layout() const { return layout_; }
  // The tensors that this replica's optimizer updates.
  std::vector<Parameter*> pieces();

  // Like FsdpUnit's.
  void send_to(std::function<void(Parameter&)> sink) { sink_ = std::move(sink); }
  void fetch();
  void drop();
  void begin_backward(bool sends) { sends_ = sends; }
  bool take(size_t parameter);
  void begin_sum();
  void settle();
  void give_gradients();
  void free_gradients();
  void gather_updates();

 private:
  ShapeTensor flat(int64_t elements, const char* group) const;
  void count(Collective kind, const char* what) const;
  void set_gradients(const ShapeTensor& sum);

  const char* name_;
  std::vector<Parameter*> parameters_;
  Run& run_;
  DType dtype_;
  int64_t zero_;
  bool has_copies_;
  FlatParameter layout_;
  ShapeTensor flat_, part_;
  std::vector<Parameter> pieces_;
  bool is_there_ = true;

  ShapeTensor gradients_, sum_, summing_;
  bool adding_up_ = false;
  bool sends_ = false;
  std::function<void(Parameter&)> sink_;
  size_t missing_ = 0;
};

}  // namespace headroom
