#include "engine/tensor/tensor.h"

#include <algorithm>
#include <cassert>

#include "engine/tensor/autograd.h"
#include "engine/tensor/run.h"

namespace trainmem {

Shape::Shape(std::initializer_list<Size> sizes) {
  for (const Size& size : sizes) append(size);
}

Size Shape::elements() const {
  Size product = 1;
  for (int i = 0; i < rank_; ++i) product = i == 0 ? sizes_[0] : product * sizes_[static_cast<std::size_t>(i)];
  return product;
}

bool operator==(const Shape& a, const Shape& b) {
  if (a.rank_ != b.rank_) return false;
  for (int i = 0; i < a.rank_; ++i)
    if (a[i] != b[i]) return false;
  return true;
}

void Storage::release() {
  if (id >= 0 && !run->closed) run->tape.events.push_back(release_of(id));
  delete this;
}

void TensorBody::release() { delete this; }

const Shape& Tensor::shape() const { return body_->shape; }
DType Tensor::dtype() const { return body_->dtype; }
bool Tensor::requires_grad() const { return defined() && body_->requires_grad; }

bool Tensor::is_contiguous() const {
  Size expected = 1;
  for (int i = rank() - 1; i >= 0; --i) {
    const Size size = shape()[i];
    if (size == 1) continue;
    if (body_->strides[static_cast<std::size_t>(i)] != expected) return false;
    expected *= size;
  }
  return true;
}

bool Tensor::sole_owner() const { return body_->references == 1 && body_->storage->references == 1; }

Strides contiguous_strides(const Shape& shape) {
  Strides strides{};
  Size next = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[static_cast<std::size_t>(i)] = next;
    next *= maximum(shape[i], 1);
  }
  return strides;
}

namespace {

Tensor make(const Shape& shape, const Strides& strides, DType dtype, Ref<Storage> storage) {
  auto* body = new TensorBody;
  body->shape = shape;
  body->strides = strides;
  body->dtype = dtype;
  body->storage = std::move(storage);
  return Tensor(Ref<TensorBody>(body));
}

Size bytes_of(const Size& elements, DType dtype) {
  return bits(dtype) == 8 ? elements : elements * Size(bits(dtype)) / Size(8);
}

void write_to_tape(Storage* storage, const Shape& shape, DType dtype, const Label& label) {
  Run& run = *storage->run;
  if (run.recomputing.complete) return;
  StorageRecord record;
  record.bytes = storage->bytes.recorded();
  record.size_line = storage->bytes.line();
  record.stream = run.stream;
  record.component = run.component;
  record.dtype = dtype;
  record.rank = static_cast<std::int8_t>(shape.rank());
  record.layer = run.layer;
  record.place = run.place;
  for (int i = 0; i < shape.rank(); ++i) record.shape[static_cast<std::size_t>(i)] = shape[i].recorded();
  record.made_by = label.rule;
  record.role = label.name;
  record.in_kernel = label.in_kernel;
  storage->id = static_cast<std::int32_t>(run.tape.storages.size());
  run.tape.storages.push_back(record);
  run.tape.events.push_back(allocation_of(storage->id));
}

Ref<Storage> allocate_storage(const Shape& shape, DType dtype, const Label& label) {
  auto* storage = new Storage;
  Ref<Storage> handle(storage);
  storage->run = &active_run();
  storage->bytes = bytes_of(shape.elements(), dtype);
  write_to_tape(storage, shape, dtype, label);
  return handle;
}

}  // namespace

Tensor allocate(const Shape& shape, DType dtype, const Label& label) {
  return make(shape, contiguous_strides(shape), dtype, allocate_storage(shape, dtype, label));
}

Tensor allocate_like(const Tensor& like, const Shape& shape, DType dtype, const Label& label) {
  // TensorIterator: a dense result keeps the order of its operand's dimensions in memory.
  std::array<int, max_rank> order{};
  const int rank = shape.rank();
  for (int i = 0; i < rank; ++i) order[static_cast<std::size_t>(i)] = i;
  if (like.rank() == rank) {
    const Strides& strides = like->strides;
    const auto stride = [&](int i) { return strides[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])]; };
    for (int i = 1; i < rank; ++i) {
      for (int j = i; j > 0 && stride(j - 1) != 0 && stride(j - 1) < stride(j); --j)
        std::swap(order[static_cast<std::size_t>(j)], order[static_cast<std::size_t>(j - 1)]);
    }
  }
  Strides strides{};
  Size next = 1;
  for (int i = rank - 1; i >= 0; --i) {
    const int dimension = order[static_cast<std::size_t>(i)];
    strides[static_cast<std::size_t>(dimension)] = next;
    next *= maximum(shape[dimension], 1);
  }
  return make(shape, strides, dtype, allocate_storage(shape, dtype, label));
}

Tensor allocate_nothing(const Shape& shape, DType dtype) {
  auto* storage = new Storage;
  storage->run = &active_run();
  return make(shape, contiguous_strides(shape), dtype, Ref<Storage>(storage));
}

Tensor declare(const Shape& shape, DType dtype) { return allocate_nothing(shape, dtype); }

void give_memory(const Tensor& tensor, Size elements, Component component, const Label& label) {
  Storage* storage = tensor->storage.get();
  storage->bytes = bytes_of(elements, tensor.dtype());
  const Set<Component> scope(storage->run->component, component);
  write_to_tape(storage, tensor.shape(), tensor.dtype(), label);
}

void take_memory(const Tensor& tensor) {
  Storage* storage = tensor->storage.get();
  if (storage->id >= 0 && !storage->run->closed) storage->run->tape.events.push_back(release_of(storage->id));
  storage->id = -1;
}

Tensor alias(const Tensor& base, const Shape& shape, const Strides& strides) {
  Tensor view = make(shape, strides, base.dtype(), base->storage);
  view->is_view = true;
  return view;
}

Tensor detach(const Tensor& tensor) { return alias(tensor, tensor.shape(), tensor->strides); }

void set_component(const Tensor& tensor, Component component) {
  const Storage& storage = *tensor->storage;
  if (storage.id >= 0) storage.run->tape.storages[static_cast<std::size_t>(storage.id)].component = component;
}

void note_kept(const Tensor& tensor, const Rule& rule) {
  const Storage& storage = *tensor->storage;
  if (storage.id < 0) return;
  StorageRecord& record = storage.run->tape.storages[static_cast<std::size_t>(storage.id)];
  if (record.kept_by == nullptr) record.kept_by = &rule;
}

void let_go(std::vector<Tensor>& list) {
  for (Tensor& tensor : list) tensor.reset();
  list.clear();
}

}  // namespace trainmem
