#include "engine/blocks/megatron/micro_batch.h"

#include "engine/tensor/run.h"

namespace trainmem::megatron {

namespace {

constexpr Rule input_rule{"input", "token ids, labels, masks and positions of the micro-batch",
                          "pretrain_gpt.py: get_batch"};

struct Part {
  Tensor MicroBatch::*tensor;
  DType dtype;
  const char* role;
};

/// In the order of the batch's keys.
constexpr Part parts[] = {{&MicroBatch::ids, DType::int64, "token ids"},
                          {&MicroBatch::labels, DType::int64, "labels"},
                          {&MicroBatch::loss_mask, DType::float32, "loss mask"},
                          {&MicroBatch::position_ids, DType::int64, "position ids"}};

}  // namespace

Tensor make_input(Size sequences, Size tokens, DType dtype, const char* role) {
  Tensor tensor = allocate({sequences, tokens}, dtype, {&input_rule, role});
  note_kept(tensor, input_rule);
  return tensor;
}

MicroBatch make_micro_batch(Size sequences, Size whole_sequence, Size tokens) {
  MicroBatch batch;
  const auto make_all = [&](Size columns) {
    for (const Part& part : parts)
      batch.*part.tensor = allocate({sequences, columns}, part.dtype, {&input_rule, part.role});
  };
  make_all(whole_sequence);
  if (whole_sequence > tokens) make_all(tokens);
  for (const Part& part : parts) note_kept(batch.*part.tensor, input_rule);
  return batch;
}

}  // namespace trainmem::megatron
