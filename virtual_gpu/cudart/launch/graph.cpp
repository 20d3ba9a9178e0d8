// CUDA graphs of the runtime: capture, instantiation, launch. A launch counts the captured work.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <vector>

#include "virtual_gpu/cudart/cuda12.h"
#include "virtual_gpu/cudart/error.h"

using namespace virtual_gpu;

namespace {

struct GraphExec {
  uint64_t kernels;
  uint64_t flops;
};

Graph* as_graph(cudaGraph_t handle) { return reinterpret_cast<Graph*>(handle); }
GraphExec* as_exec(cudaGraphExec_t handle) { return reinterpret_cast<GraphExec*>(handle); }
cudaGraphNode_t as_handle(Node* node) { return reinterpret_cast<cudaGraphNode_t>(node); }

cudaStreamCaptureStatus status_of(const std::optional<CaptureInfo>& capture) {
  if (!capture) return cudaStreamCaptureStatusNone;
  return capture->valid ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusInvalidated;
}

cudaError_t instantiate(cudaGraphExec_t* exec, cudaGraph_t graph) {
  if (const cudaError_t error = usable()) return error;
  if (graph == nullptr) return result(cudaErrorInvalidValue);
  *exec = reinterpret_cast<cudaGraphExec_t>(
      new GraphExec{.kernels = as_graph(graph)->kernels(), .flops = as_graph(graph)->flops()});
  return cudaSuccess;
}

// Fills the caller's array up to *count and sets *count to the number of nodes, like all of CUDA's
// node queries.
cudaError_t give_nodes(const std::vector<Node*>& nodes, cudaGraphNode_t* out, size_t* count) {
  if (out != nullptr) {
    for (size_t i = 0; i < std::min(*count, nodes.size()); ++i) out[i] = as_handle(nodes[i]);
  }
  *count = nodes.size();
  return cudaSuccess;
}

}  // namespace

namespace virtual_gpu {

cudaError_t capture_info(cudaStream_t handle, cudaStreamCaptureStatus* status,
                         unsigned long long* id, cudaGraph_t* graph,
                         const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges,
                         size_t* count) {
  if (const cudaError_t error = usable()) return error;
  Machine& machine = Machine::get();
  const std::optional<CaptureInfo> capture = machine.streams.capture_of(machine.stream(handle));
  *status = status_of(capture);
  if (!capture) return cudaSuccess;
  if (id != nullptr) *id = capture->id;
  if (graph != nullptr) *graph = reinterpret_cast<cudaGraph_t>(capture->graph);
  if (dependencies != nullptr) {
    *dependencies = reinterpret_cast<const cudaGraphNode_t*>(capture->leaves->data());
  }
  if (edges != nullptr) *edges = nullptr;
  if (count != nullptr) *count = capture->leaves->size();
  return cudaSuccess;
}

cudaError_t dependencies_of(cudaGraphNode_t node, cudaGraphNode_t* dependencies, size_t* count) {
  return give_nodes(reinterpret_cast<Node*>(node)->after, dependencies, count);
}

}  // namespace virtual_gpu

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  if (const cudaError_t error = usable()) return error;
  // The default stream cannot be captured.
  if (reinterpret_cast<uintptr_t>(stream) <= 1) return result(cudaErrorStreamCaptureUnsupported);
  Machine& machine = Machine::get();
  return result(machine.streams.begin(machine.stream(stream), static_cast<CaptureMode>(mode)));
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  if (const cudaError_t error = usable()) return error;
  Machine& machine = Machine::get();
  std::unique_ptr<Graph> captured;
  const Status status = machine.streams.end(machine.stream(stream), &captured);
  *graph = reinterpret_cast<cudaGraph_t>(captured.release());
  return result(status);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  if (const cudaError_t error = usable()) return error;
  Machine& machine = Machine::get();
  *status = status_of(machine.streams.capture_of(machine.stream(stream)));
  return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  std::vector<Node*> all;
  for (const auto& node : as_graph(graph)->nodes) all.push_back(node.get());
  return give_nodes(all, nodes, count);
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  std::vector<Node*> roots;
  for (const auto& node : as_graph(graph)->nodes) {
    if (node->after.empty()) roots.push_back(node.get());
  }
  return give_nodes(roots, nodes, count);
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  switch (reinterpret_cast<Node*>(node)->kind) {
    case NodeKind::kKernel:
      *type = cudaGraphNodeTypeKernel;
      break;
    case NodeKind::kCopy:
      *type = cudaGraphNodeTypeMemcpy;
      break;
    case NodeKind::kSet:
      *type = cudaGraphNodeTypeMemset;
      break;
    case NodeKind::kHost:
      *type = cudaGraphNodeTypeHost;
      break;
  }
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  return instantiate(exec, graph);
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph,
                                          unsigned long long) {
  return instantiate(exec, graph);
}

cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return usable(); }

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  if (const cudaError_t error = usable()) return error;
  Machine& machine = Machine::get();
  Device& device = machine.device(machine.stream(stream).device);
  machine.contents.forget_all();  // its writes were not recorded
  if (!machine.streams.any_capture()) {
    machine.streams.issue(machine.stream(stream), NodeKind::kKernel, 0);
  }
  device.counters.graph_launches.fetch_add(1, std::memory_order_relaxed);
  device.counters.launches.fetch_add(as_exec(exec)->kernels, std::memory_order_relaxed);
  device.counters.matrix_product_flops.fetch_add(as_exec(exec)->flops, std::memory_order_relaxed);
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete as_exec(exec);
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete as_graph(graph);
  return cudaSuccess;
}

cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char* path, unsigned) {
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) return result(cudaErrorOperatingSystem);
  std::fputs("digraph captured {\n", file);
  for (const auto& node : as_graph(graph)->nodes) {
    for (const Node* before : node->after) {
      std::fprintf(file, "  \"%p\" -> \"%p\";\n", static_cast<const void*>(before),
                   static_cast<const void*>(node.get()));
    }
  }
  std::fputs("}\n", file);
  return std::fclose(file) == 0 ? cudaSuccess : result(cudaErrorOperatingSystem);
}

}  // extern "C"
