#include "engine/blocks/token_log_probabilities.h"

#include <utility>
#include <vector>

#include "engine/tensor/logsumexp.h"
#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"

namespace trainmem {

namespace {

constexpr Rule entropy_rule{"entropy", "", "TRL trainer/utils.py: entropy_from_logits"};

std::vector<Tensor> rows_of(const Tensor& x) {
  return split(x, std::vector<Size>(static_cast<std::size_t>(x.size(0).value()), Size(1)), 0);
}

/// In 32 bits: the chosen logit less the log-sum-exp of its row, one sequence after another.
Tensor from_logsumexp(const Tensor& logits, const Tensor& index) {
  Tensor selected = gather(logits, index);
  std::vector<Tensor> sums;
  for (const Tensor& row : rows_of(logits)) sums.push_back(logsumexp(row));
  Tensor all = concatenate(sums, 0);
  let_go(sums);
  Tensor result = subtract(std::move(selected), unsqueeze(std::move(all), 2));
  return view(std::move(result), {logits.size(0), logits.size(1)});
}

/// In 16 bits: log-probabilities of one sequence after another, of which one in each row is chosen.
Tensor from_log_softmax(const Tensor& logits, const Tensor& index) {
  std::vector<Tensor> chosen;
  const std::vector<Tensor> rows = rows_of(logits);
  const Tensor of_row = alias(index, {1, index.size(1), 1}, index->strides);
  Tensor probabilities;  // a variable of the loop
  for (const Tensor& row : rows) {
    probabilities = log_softmax(row);
    chosen.push_back(gather(probabilities, of_row));
  }
  Tensor result = concatenate(chosen, 0);
  let_go(chosen);
  return view(std::move(result), {logits.size(0), logits.size(1)});
}

}  // namespace

Tensor selective_log_softmax(const Tensor& logits, const Tensor& index) {
  return logits.dtype() == DType::float32 ? from_logsumexp(logits, index) : from_log_softmax(logits, index);
}

Tensor entropy_from_logits(const Tensor& logits) {
  constexpr std::int64_t chunk = 128;  // rows
  const Set<bool> without_autograd(active_run().grad_enabled, false);
  const Size vocabulary = logits.size(2);
  const Size rows = logits.size(0) * logits.size(1);
  const DType dtype = logits.dtype();
  Tensor flat = detach(logits);
  if (logits.size(0) > 1) flat = contiguous(std::move(flat), "flat logits");  // sequences lie apart
  flat = view(std::move(flat), {rows, vocabulary});
  const Tensor entropies = allocate({rows}, dtype, {&entropy_rule});
  Tensor probabilities;  // a variable of the loop: two of its turns show all that is ever alive together
  for (int i = 0; i < 2; ++i) {
    const auto of_chunk = [&] { return allocate({minimum(rows, chunk), vocabulary}, dtype, {&entropy_rule}); };
    probabilities = of_chunk();
    const Tensor exponentials = of_chunk();
    of_chunk();
  }
  return view(entropies, {logits.size(0), logits.size(1)});
}

}  // namespace trainmem
