#include "engine/blocks/megatron/micro_batch.h"

#include "engine/tensor/run.h"

namespace trainmem::megatron {

namespace {

constexpr Rule input_rule{"input", "token ids, labels, masks and positions of the micro-batch",
                          "pretrain_gpt.py: get_batch"};

}  // namespace

Tensor make_input(Size sequences, Size tokens, DType dtype, const char* role) {
  Tensor tensor = allocate({sequences, tokens}, dtype, {&input_rule, role});
  note_kept(tensor, input_rule);
  return tensor;
}

MicroBatch make_micro_batch(Size sequences, Size whole_sequence, Size tokens) {
  const auto make = [&](Size columns, DType dtype, const char* role) {
    return allocate({sequences, columns}, dtype, {&input_rule, role});
  };
  MicroBatch batch;
  batch.ids = make(whole_sequence, DType::int64, "token ids");
  batch.labels = make(whole_sequence, DType::int64, "labels");
  batch.loss_mask = make(whole_sequence, DType::float32, "loss mask");
  batch.position_ids = make(whole_sequence, DType::int64, "position ids");
  if (whole_sequence > tokens) {
    batch.ids = make(tokens, DType::int64, "token ids");
    batch.labels = make(tokens, DType::int64, "labels");
    batch.loss_mask = make(tokens, DType::float32, "loss mask");
    batch.position_ids = make(tokens, DType::int64, "position ids");
  }
  for (const Tensor* tensor : {&batch.ids, &batch.labels, &batch.loss_mask, &batch.position_ids})
    note_kept(*tensor, input_rule);
  return batch;
}

}  // namespace trainmem::megatron
