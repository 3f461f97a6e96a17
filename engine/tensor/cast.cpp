// Number formats: casts, type promotion, autocast.
#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"
#include "engine/tensor/work.h"

namespace trainmem {

namespace {
constexpr Rule cast_rule{"cast", "copy in another number format", "derivatives.yaml: _to_copy"};
constexpr Rule autocast_rule{"autocast weight copy", "16-bit copy of a weight, made at first use and cached",
                             "pytorch aten/src/ATen/autocast_mode.cpp: cached_cast"};
}  // namespace

DType promote(DType a, DType b) {
  if (a == b) return a;
  const bool a_floats = is_half(a) || a == DType::float32 || a == DType::float64;
  const bool b_floats = is_half(b) || b == DType::float32 || b == DType::float64;
  if (a_floats != b_floats) return a_floats ? a : b;
  if (bits(a) != bits(b)) return bits(a) > bits(b) ? a : b;
  return DType::float32;  // bf16 with fp16
}

Tensor cast_gradient(Tensor argument, DType dtype) {
  const Tensor gradient = std::move(argument);
  return allocate_like(gradient, gradient.shape(), dtype, {&cast_rule});
}

Tensor to(Tensor argument, DType dtype, const char* role) {
  const Tensor x = std::move(argument);
  if (x.dtype() == dtype) return x;
  const Ref<Node> node = begin_node(cast_rule, {&x});
  Tensor result = allocate_like(x, x.shape(), dtype, {&cast_rule, role});
  if (node) node->backward = [dtype = x.dtype()](Backward& b) { b.give(0, cast_gradient(b.take_gradient(), dtype)); };
  finish_node(node, result);
  return result;
}

Tensor autocast_low(Tensor argument) {
  Tensor x = std::move(argument);
  Run& run = active_run();
  if (!x.defined() || !run.autocast.enabled || x.dtype() == run.autocast.dtype) return x;
  if (x.dtype() != DType::float32 && !is_half(x.dtype())) return x;
  const bool cacheable = x.dtype() == DType::float32 && x.requires_grad() && x->leaf && !x->is_view;
  if (!cacheable) return to(std::move(x), run.autocast.dtype);
  if (run.compiled_region != 0) {
    // Traced without the cache (torch/_functorch/aot_autograd.py: disable_autocast_cache). The partitioner keeps the
    // copy: made again, it would have to be written to memory again (partitioners.py: is_materialized_backwards).
    const Set<Component> component(run.component, Component::weights);
    return to(std::move(x), run.autocast.dtype, autocast_rule.name);
  }
  const auto found = run.autocast_copies.copies.find(x.get());
  if (found != run.autocast_copies.copies.end()) return found->second;
  const Tensor weight = x;
  Tensor copy;
  if (x->parameter < 0) {  // another leaf: what recomputed blocks with adapters are given
    copy = to(std::move(x), run.autocast.dtype);
  } else {
    const Set<Component> component(run.component, Component::weights);
    note_traffic(Pass::forward, Component::weights, x.elements() * element_bytes(x.dtype()));
    copy = to(std::move(x), run.autocast.dtype, autocast_rule.name);
  }
  if (!run.recomputing.complete && weight->parameter >= 0) note_kept(copy, autocast_rule);
  run.autocast_copies.copies[weight.get()] = copy;
  run.autocast_copies.order.emplace_back(weight, run.layer);
  return copy;
}

Tensor autocast_fp32(Tensor argument) {
  Tensor x = std::move(argument);
  if (!active_run().autocast.enabled || !is_half(x.dtype())) return x;
  return to(std::move(x), DType::float32);
}

}  // namespace trainmem
