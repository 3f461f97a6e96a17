#include "engine/blocks/transformers/gemma3n_model.h"

#include <utility>

#include "engine/tensor/mean_first.h"
#include "engine/tensor/run.h"

namespace trainmem::transformers {

void Gemma3nModel::make_head() {
  LlamaModel::make_head();
  const Place place("streams");
  into_streams_ = StreamProjections(model, weights, "stream");
  out_of_streams_ = StreamProjections(model, weights, "stream output");
}

ForwardState Gemma3nModel::begin(const Tensor& ids, AttentionKernel attention) {
  ForwardState state = LlamaModel::begin(ids, attention);
  const Place place("streams");
  const Tensor first = std::move(state.hidden);
  const std::vector<Tensor> streams = into_streams_(first, {first}, locals_);
  state.hidden = stack(streams, "streams");
  return state;
}

Tensor Gemma3nModel::end(Tensor hidden) {
  {
    const Place place("streams");
    let_go(locals_);
    const Tensor measured = select(hidden, 0, 0);
    std::vector<Tensor> given;
    for (std::int64_t i = 0; i < model.altup_num_inputs; ++i) given.push_back(select(hidden, 0, i));
    const std::vector<Tensor> streams = out_of_streams_(measured, given, locals_);
    given.clear();
    hidden = stack(streams, "streams");
    hidden = mean_first(std::move(hidden));
  }
  Tensor result = norm_.at("final norm", std::move(hidden));
  let_go(locals_);
  return result;
}

}  // namespace trainmem::transformers
