#include "engine/blocks/torchtitan/token_dispatcher.h"

#include "engine/tensor/run.h"

namespace trainmem::torchtitan {

namespace {

constexpr const char* file = "torchtitan models/common/token_dispatcher.py";
constexpr Rule routing_rule{"token order", "", "torchtitan models/common/token_dispatcher.py: _local_reorder"};
constexpr Rule permute_rule{"order by local expert", "", "torchtitan models/common/token_dispatcher.py: _permute"};
constexpr Rule exchange_rule{"all-to-all of tokens", "", file};

/// From the order of their senders to that of the local experts; integers on the way stay until it returns.
Tensor permute(const Tensor& received, Tensor& order) {
  const Shape rows{received.size(0)};
  const auto integers = [&](const char* role) { return allocate(rows, DType::int64, {&permute_rule, role}); };
  const Tensor segments = integers("segment of each row");
  {
    Tensor starts = integers(nullptr);
    Tensor places = integers(nullptr);
    Tensor sum = integers(nullptr);
    starts.reset();
    places.reset();
    starts = integers(nullptr);
    order = integers("source of each row");
  }
  return index_rows(received, order, "tokens by local expert");
}

}  // namespace

Dispatched dispatch(const Tensor& tokens, const Tensor& weights, const Tensor& chosen, const Tensor& counts) {
  Dispatched result;
  const Shape copies{tokens.size(0) * chosen.size(1)};
  const Tensor order = sort(view(chosen, copies), "order by expert").indices;
  result.weights = index_rows(view(weights, copies), order, "routing weights by expert");
  result.source = allocate(copies, DType::int64, {&routing_rule, "source of a token copy"});
  const Tensor own = index_rows(tokens, result.source, "tokens by expert");
  const ExpertParallel& parallel = active_run().settings.expert_parallel;
  if (parallel.size == 1) {
    result.input = own;
    return result;
  }
  const Tensor received_counts =
      exchange_rows(counts, counts.size(0), exchange_rule, "received counts", Component::communication);
  const Tensor received = exchange_rows(own, received_rows(own.size(0), parallel.imbalance), exchange_rule,
                                        "received tokens", Component::communication);
  result.input = permute(received, result.order);
  return result;
}

Tensor combine(const Tensor& results, const Dispatched& dispatched, const Tensor& tokens) {
  Tensor out = results;
  Tensor sent;  // the exchange holds it until its result is used
  if (dispatched.order.defined()) {
    sent = put_rows(results, dispatched.order, "expert output by receiver");
    out = exchange_rows(sent, dispatched.source.size(0), exchange_rule, "returned tokens", Component::communication);
  }
  const Tensor zeros = allocate(tokens.shape(), tokens.dtype(), {&routing_rule});
  sent.reset();
  const Tensor column = view(dispatched.weights, {dispatched.source.size(0), 1});
  Tensor weighted = multiply(to(out, DType::float32, "expert output in fp32"), column, "weighted expert output");
  out = to(std::move(weighted), tokens.dtype());
  return scatter_add_rows(std::move(out), dispatched.source, tokens.size(0));
}

}  // namespace trainmem::torchtitan
