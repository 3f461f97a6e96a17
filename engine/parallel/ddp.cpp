#include "engine/parallel/ddp.h"

#include "engine/tensor/run.h"

namespace trainmem {

namespace {
constexpr Rule bucket_rule{"DDP buckets", "buckets through which gradients are reduced",
                           "pytorch torch/csrc/distributed/c10d/reducer.cpp: initialize_buckets"};
}

Ddp::Ddp(bool gradient_as_bucket_view) {
  Run& run = active_run();
  Size elements = 0;
  DType dtype = DType::float32;
  for (const RegisteredParameter& parameter : run.parameters) {
    if (!parameter.tensor.requires_grad()) continue;
    elements = elements + parameter.tensor.elements() * run.times_of(parameter.layer);
    dtype = parameter.tensor.dtype();
  }
  {
    const Place place("data parallelism", gradient_as_bucket_view ? Component::gradients : Component::communication);
    buckets_ = allocate({elements}, dtype, {&bucket_rule});
    note_kept(buckets_, bucket_rule);
  }
  if (!gradient_as_bucket_view) return;
  for (const RegisteredParameter& parameter : run.parameters)
    parameter.tensor->gradient_hook = [this](const Tensor& leaf) {
      if (!reduces_) return;
      leaf->grad = alias(buckets_, leaf.shape(), leaf->strides);
    };
}

Ddp::~Ddp() {
  for (const RegisteredParameter& parameter : active_run().parameters) parameter.tensor->gradient_hook = nullptr;
}

}  // namespace trainmem
