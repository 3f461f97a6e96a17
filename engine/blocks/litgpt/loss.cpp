#include "engine/blocks/litgpt/loss.h"

namespace trainmem::litgpt {

namespace {

Size rows_of(const Tensor& x) { return x.elements() / x.size(-1); }

Tensor mean_of(const std::vector<Tensor>& losses) { return scalar_operation(sum(concatenate(losses, 0), 0)); }

std::vector<Size> chunk_sizes(const Size& length) {
  std::vector<Size> sizes;
  for (Size begin = 0; begin < length; begin = begin + chunk_size)
    sizes.push_back(begin + chunk_size < length ? Size(chunk_size) : length - begin);
  if (sizes.empty()) sizes.push_back(0);  // one token predicts nothing
  return sizes;
}

}  // namespace

Tensor loss_of_chunks(const Tensor& logits, const Tensor& labels) {
  const Size s = labels.size(1);
  const Tensor scored = slice(logits, 1, 0, s - 1);
  const Tensor rows = reshape(scored, {rows_of(scored), scored.size(-1)});
  const Tensor shifted = slice(labels, 1, 1, s);
  const Tensor targets = reshape(shifted, {shifted.elements()});
  const std::vector<Size> sizes = chunk_sizes(rows.size(0));
  const std::vector<Tensor> logit_chunks = split(rows, sizes, 0);
  const std::vector<Tensor> target_chunks = split(targets, sizes, 0);
  std::vector<Tensor> losses;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    losses.push_back(cross_entropy_of_rows(logit_chunks[i], target_chunks[i]));
  return mean_of(losses);
}

Tensor loss_of_head_chunks(std::vector<Tensor>& logits, const Tensor& labels) {
  const Size s = labels.size(1);
  logits.back() = slice(logits.back(), 1, 0, logits.back().size(1) - 1);
  const Tensor shifted = slice(labels, 1, 1, s);
  std::vector<Tensor> logit_chunks;
  std::vector<Tensor> target_chunks;
  Size begin = 0;
  for (const Tensor& chunk : logits) logit_chunks.push_back(reshape(chunk, {rows_of(chunk), chunk.size(-1)}));
  for (const Tensor& chunk : logits) {
    const Size end = begin + chunk.size(1);
    const Tensor part = slice(shifted, 1, begin, end);
    target_chunks.push_back(reshape(part, {part.elements()}));
    begin = end;
  }
  std::vector<Tensor> losses;
  for (std::size_t i = 0; i < logit_chunks.size(); ++i)
    losses.push_back(cross_entropy_of_rows(logit_chunks[i], target_chunks[i]));
  return mean_of(losses);
}

Tensor loss_of_whole(const Tensor& logits, const Tensor& labels) {
  const Tensor targets = reshape(labels, {labels.elements()});
  return cross_entropy(reshape(logits, {rows_of(logits), logits.size(-1)}), targets);
}

}  // namespace trainmem::litgpt
