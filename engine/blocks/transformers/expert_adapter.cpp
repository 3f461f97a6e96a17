#include "engine/blocks/transformers/expert_adapter.h"

namespace trainmem::transformers {

ExpertAdapter::ExpertAdapter(Size in, Size out, Size experts, std::int64_t fused, const char* role)
    : experts_(experts), pair_(make_adapter(in, out, role, experts * Size(fused))) {}

Tensor ExpertAdapter::product(const Tensor& weight) const {
  const Size rank = pair_.a.size(0) / experts_;
  Tensor delta;
  if (weight.rank() == 2) {  // Linear.get_delta_weight
    delta = multiply_number(linear(pair_.b, transpose(pair_.a, 0, 1), {}, "product of a router's adapters"));
  } else {
    const Tensor a = view(pair_.a, {experts_, rank, pair_.a.size(1)});
    const Tensor b = view(pair_.b, {pair_.b.size(0), rank, experts_});
    // torch.einsum("o r e, e r i -> e o i"), aten/src/ATen/native/Linear.cpp: sumproduct_pair.
    const Tensor left = transpose(transpose(b, 0, 2), 1, 2);
    delta = multiply_number(bmm(left, a, "product of experts' adapters"));
  }
  delta = to(std::move(delta), weight.dtype(), "product of experts' adapters");
  // torch/nn/utils/parametrize.py, ParametrizationList.__init__: the sum is made once for its format and shape.
  { const Tensor sum = add(weight, delta); }
  return delta;
}

}  // namespace trainmem::transformers
