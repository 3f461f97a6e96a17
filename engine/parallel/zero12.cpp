#include "engine/parallel/zero12.h"

#include <algorithm>

#include "engine/tensor/run.h"

namespace trainmem {

namespace {

constexpr const char* file = "DeepSpeed deepspeed/runtime/zero/stage_1_and_2.py";
constexpr Rule flat_rule{"flat weights", "all weights laid end to end, padded to twice the GPUs",
                         "DeepSpeed deepspeed/runtime/zero/stage_1_and_2.py: flatten_dense_tensors_aligned"};
constexpr Rule master_rule{"fp32 weights of this GPU's part", "the copy that the optimizer steps",
                           "DeepSpeed deepspeed/runtime/zero/stage_1_and_2.py: single_partition_of_fp32_groups"};
constexpr Rule first_gradient_rule{"zero gradient", "", "DeepSpeed stage_1_and_2.py: initialize_optimizer_states"};
constexpr Rule bucket_rule{"reduction bucket",
                           "what gradients are copied into to be reduced; with overlap a second one fills meanwhile",
                           "DeepSpeed stage_1_and_2.py: setup_buckets; config.py: reduce_bucket_size, overlap_comm"};
constexpr Rule reduce_rule{"flattened bucket",
                           "copy of a bucket that several GPUs own parts of, while it is all-reduced",
                           "DeepSpeed stage_1_and_2.py: allreduce_bucket"};
constexpr Rule own_rule{"gradients of this GPU's part",
                        "reduced gradients of the weights that have something in this GPU's part, until the step",
                        "DeepSpeed stage_1_and_2.py: copy_grads_in_partition"};
constexpr Rule host_rule{"offload buffer", "one gradient, as large as the largest, on its way from host memory",
                         "DeepSpeed stage_1_and_2.py: temp_grad_buffer_for_gpu_offload"};
constexpr Rule overflow_rule{"search for infinities", "", "DeepSpeed stage_1_and_2.py: _has_inf_or_nan"};
constexpr Rule flat_gradient_rule{"flat gradient", "gradients of this GPU's part laid end to end", file};
constexpr Rule gradient_rule{"fp32 gradient of this GPU's part", "what the optimizer steps with", file};

void search_infinities(Size elements) {
  const auto make = [&](DType dtype) { return allocate({elements}, dtype, {&overflow_rule}); };
  const Tensor wide = make(DType::float32);
  const Tensor nan = make(DType::boolean);
  Tensor absolute = make(DType::float32);
  const Tensor infinite = make(DType::boolean);
  absolute.reset();
  const Tensor either = make(DType::boolean);
  const Tensor counted = make(DType::float32);
}

}  // namespace

Zero12::~Zero12() {
  for (const Weight& weight : weights_) weight.tensor->gradient_hook = nullptr;
}

void Zero12::wrap() {
  const Place place("data parallelism", Component::weights);
  std::int64_t elements = 0;
  for (const auto& [parameter, layer, group] : active_run().parameters) {
    if (!parameter.requires_grad()) continue;  // frozen: every GPU has it whole
    const std::int64_t begin = elements;
    elements += parameter.elements().value();
    weights_.push_back({parameter, begin, elements});
  }
  dtype_ = weights_[0].tensor.dtype();
  const std::int64_t gpus = recipe_.data_parallel_size;
  const std::int64_t padded = round_up(elements, 2 * gpus).value();
  partition_ = padded / gpus;
  first_ = padded - partition_;
  for (const Weight& weight : weights_) take_memory(weight.tensor);  // laid end to end in host memory
  flat_ = allocate({padded}, dtype_, {&flat_rule});
  note_kept(flat_, flat_rule);
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    weights_[i].tensor->storage = flat_->storage;
    if (owned(weights_[i])) owned_elements_ += weights_[i].end - weights_[i].begin;
    weights_[i].tensor->gradient_hook = [this, i](const Tensor& leaf) { receive(leaf, i); };
  }
  if (recipe_.offload_optimizer) {
    std::int64_t largest = 0;
    for (const Weight& weight : weights_) largest = std::max(largest, weight.end - weight.begin);
    const Set<Component> component(active_run().component, Component::communication);
    host_buffer_ = allocate({largest}, dtype_, {&host_rule});
    note_kept(host_buffer_, host_rule);
    return;
  }
  Tensor clone;
  if (dtype_ != DType::float32) clone = allocate({partition_}, dtype_, {&master_rule, "clone"});
  const Set<Component> component(active_run().component, Component::master_weights);
  const Tensor master = allocate({partition_}, DType::float32, {&master_rule});
  note_kept(master, master_rule);
  clone.reset();
  const Tensor gradient = allocate({partition_}, DType::float32, {&first_gradient_rule});
  master_ = std::make_unique<MasterWeights>(recipe_, master);
}

void Zero12::receive(const Tensor& /*leaf*/, std::size_t index) {
  if (!bucket_.defined()) {
    const Place place("data parallelism", Component::communication);
    const auto make = [&] { return allocate({recipe_.zero_reduce_bucket_size}, dtype_, {&bucket_rule}); };
    bucket_ = make();
    note_kept(bucket_, bucket_rule);
    if (recipe_.zero_overlap_comm) {
      next_bucket_ = make();
      note_kept(next_bucket_, bucket_rule);
    }
  }
  if (recipe_.data_parallel == DataParallel::zero2 || (recipe_.zero_overlap_comm && last_backward_))
    add_to_bucket(index);
}

void Zero12::add_to_bucket(std::size_t index) {
  const Weight& weight = weights_[index];
  if (!weight.tensor->grad.defined()) return;
  const std::int64_t elements = weight.end - weight.begin;
  if (bucket_elements_ + elements > recipe_.zero_reduce_bucket_size) reduce_bucket();
  // One that is larger than the bucket is reduced where it is.
  if (elements <= recipe_.zero_reduce_bucket_size)
    weight.tensor->grad = alias(bucket_, weight.tensor.shape(), weight.tensor->strides);
  bucket_elements_ += elements;
  in_bucket_.push_back(index);
}

/// average_tensor and allreduce_and_scatter: stretches of one GPU's part are all-reduced together. One alone is
/// flattened into itself, several into a copy.
void Zero12::all_reduce() const {
  std::vector<std::int64_t> slices;
  std::int64_t previous = -1;
  for (const std::size_t index : in_bucket_) {
    std::int64_t at = weights_[index].begin;
    while (at < weights_[index].end) {
      const std::int64_t owner = at / partition_;
      const std::int64_t stop = std::min(weights_[index].end, (owner + 1) * partition_);
      if (owner != previous) slices.push_back(0);
      slices.back() += stop - at;
      previous = owner;
      at = stop;
    }
  }
  std::int64_t elements = 0;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    elements += slices[i];
    ++count;
    if (elements <= recipe_.zero_reduce_bucket_size && i + 1 < slices.size()) continue;
    if (count > 1) allocate({elements}, dtype_, {&reduce_rule});
    elements = count = 0;
  }
}

void Zero12::reduce_bucket() {
  if (in_bucket_.empty()) return;
  const Place place("data parallelism", Component::communication);
  all_reduce();
  for (const std::size_t index : in_bucket_) {
    const Weight& weight = weights_[index];
    if (!owned(weight)) {
      if (recipe_.data_parallel == DataParallel::zero2) weight.tensor->grad.reset();
      continue;
    }
    if (recipe_.offload_optimizer) {
      send_to_host(weight);
      weight.tensor->grad.reset();
      continue;
    }
    if (!reduced_.defined()) {
      const Set<Component> component(active_run().component, Component::gradients);
      reduced_ = allocate({owned_elements_}, dtype_, {&own_rule});
      note_kept(reduced_, own_rule);
    }
    weight.tensor->grad = alias(reduced_, weight.tensor.shape(), weight.tensor->strides);
  }
  in_bucket_.clear();
  bucket_elements_ = 0;
}

/// copy_grads_in_partition: gradients add up in host memory; the last ones leave their norm, are searched whole, and
/// what is of this GPU's part goes as fp32.
void Zero12::send_to_host(const Weight& weight) const {
  if (!last_backward_) return;
  const Size elements = weight.end - std::max(weight.begin, first_);
  { const Tensor norm = zero_norm(elements); }
  if (!is_half(dtype_)) return;
  search_infinities(weight.end - weight.begin);
  const Tensor wide = allocate({elements}, DType::float32, {&gradient_rule});
}

void Zero12::end_backward() {
  if (recipe_.data_parallel == DataParallel::zero2) empty_buckets();
}

void Zero12::reduce() {
  if (recipe_.data_parallel == DataParallel::zero2) return;
  if (!recipe_.zero_overlap_comm)  // else they were added as they appeared
    for (std::size_t i = 0; i < weights_.size(); ++i) add_to_bucket(i);
  empty_buckets();
}

/// The last of a backward's gradients are reduced; those of this GPU's part are added to earlier ones.
void Zero12::empty_buckets() {
  reduce_bucket();
  if (!averaged_.defined()) averaged_ = reduced_;  // else added in place
  reduced_.reset();
  bucket_.reset();
  next_bucket_.reset();
  for (const Weight& weight : weights_) weight.tensor->grad.reset();
}

void Zero12::step() {
  if (recipe_.offload_optimizer) return;  // the updated part is cast in host memory and copied into the flat weights
  const Place place("optimizer", Component::optimizer_temporaries);
  std::vector<Size> slices;
  for (const Weight& weight : weights_)
    if (owned(weight)) slices.push_back(weight.end - std::max(weight.begin, first_));
  if (is_half(dtype_))
    for (const Size& slice : slices) search_infinities(slice);
  {
    std::vector<Tensor> norms;
    for (const Size& slice : slices) norms.push_back(zero_norm(slice));
  }
  const Set<Component> component(active_run().component, Component::gradients);
  // One slice is flat as it is.
  Tensor flat =
      slices.size() == 1 ? alias(averaged_, {partition_}, {1}) : allocate({partition_}, dtype_, {&flat_gradient_rule});
  Tensor gradient = dtype_ == DType::float32 ? flat : allocate({partition_}, DType::float32, {&gradient_rule});
  flat.reset();
  note_kept(gradient, gradient_rule);
  averaged_.reset();
  master_->step(std::move(gradient));
  // The updated parts are gathered into the flat weights themselves (utils.py: all_gather_into_tensor_dp_groups).
}

}  // namespace trainmem
