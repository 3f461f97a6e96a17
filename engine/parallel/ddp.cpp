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
  for (std::size_t i = 0; i < run.parameters.size(); ++i) {
    const Tensor& parameter = run.parameters[i];
    if (!parameter.requires_grad()) continue;
    elements = elements + parameter.elements() * run.times_of(run.parameter_layers[i]);
    dtype = parameter.dtype();
  }
  {
    const Place place("data parallelism", gradient_as_bucket_view ? Component::gradients : Component::communication);
    buckets_ = allocate({elements}, dtype, {&bucket_rule});
    note_kept(buckets_, bucket_rule);
  }
  if (!gradient_as_bucket_view) return;
  for (const Tensor& parameter : run.parameters)
    parameter->gradient_hook = [this](const Tensor& leaf) {
      if (!reduces_) return;
      leaf->grad = alias(buckets_, leaf.shape(), leaf->strides);
    };
}

Ddp::~Ddp() {
  for (const Tensor& parameter : active_run().parameters) parameter->gradient_hook = nullptr;
}

}  // namespace trainmem
