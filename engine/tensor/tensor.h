// Tensors without data: shape, number format, lifetime.
//
// A Tensor is a handle, as a Python variable is: copying it shares the tensor, and the storage is freed when the
// last handle goes. Views share a storage. What is allocated and freed is written to the tape of the active Run.
// Operations take their tensors by value and let go of them before they return, as an expression's
// temporaries are let go in Python.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <utility>
#include <vector>

#include "engine/dtype.h"
#include "engine/result.h"
#include "engine/size/size.h"
#include "engine/tape/rule.h"
#include "engine/tape/tape.h"
#include "engine/tensor/pool.h"

namespace trainmem {

class Node;
class Run;

// In WebAssembly size counts: there, counting references is a call.
#ifdef __EMSCRIPTEN__
#define TRAINMEM_COLD [[gnu::noinline]]
#else
#define TRAINMEM_COLD
#endif

/// Counted reference; T has members `references` and `release()`.
template <class T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* object) : object_(object) { acquire(); }
  TRAINMEM_COLD Ref(const Ref& other) : object_(other.object_) { acquire(); }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  TRAINMEM_COLD Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  TRAINMEM_COLD ~Ref() {
    if (object_ != nullptr && --object_->references == 0) object_->release();
  }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  void acquire() {
    if (object_ != nullptr) ++object_->references;
  }
  T* object_ = nullptr;
};

class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<Size> sizes);
  int rank() const { return rank_; }
  const Size& operator[](int i) const { return sizes_[static_cast<std::size_t>(i < 0 ? rank_ + i : i)]; }
  Size& operator[](int i) { return sizes_[static_cast<std::size_t>(i < 0 ? rank_ + i : i)]; }
  void append(Size size) { sizes_[static_cast<std::size_t>(rank_++)] = size; }
  Size elements() const;
  friend bool operator==(const Shape& a, const Shape& b);

 private:
  std::array<Size, max_rank> sizes_{};
  int rank_ = 0;
};

using Strides = std::array<Size, max_rank>;

struct Storage : Pooled<Storage> {
  std::int32_t references = 0;
  std::int32_t id = -1;  ///< index into the tape's storages; -1: takes no memory of this device
  Run* run = nullptr;
  Size bytes;
  void release();
};

struct TensorBody;

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(Ref<TensorBody> body) : body_(std::move(body)) {}
  bool defined() const { return static_cast<bool>(body_); }
  const Shape& shape() const;
  const Size& size(int dimension) const { return shape()[dimension]; }
  int rank() const { return shape().rank(); }
  DType dtype() const;
  Size elements() const { return shape().elements(); }
  bool requires_grad() const;
  bool is_contiguous() const;
  /// True if no other handle and no view shares the storage: may be written in place.
  bool sole_owner() const;
  TensorBody* operator->() const { return body_.get(); }
  TensorBody* get() const { return body_.get(); }
  void reset() { body_ = Ref<TensorBody>(); }

 private:
  Ref<TensorBody> body_;
};

struct TensorBody : Pooled<TensorBody> {
  std::int32_t references = 0;
  Shape shape;
  Strides strides{};
  DType dtype = DType::float32;
  bool requires_grad = false;
  bool is_view = false;
  std::int32_t output_number = 0;
  Ref<Storage> storage;
  Ref<Node> grad_fn;  ///< node that made it; for a leaf, its accumulation node once it is used
  bool leaf = true;
  Tensor grad;                                            ///< leaves only
  std::function<void(const Tensor& leaf)> gradient_hook;  ///< leaves only: called when .grad has received a gradient
  std::int32_t parameter = -1;                            ///< index into the run's parameters; -1: not a parameter
  void release();
};

Strides contiguous_strides(const Shape& shape);

/// What a new tensor is called on the tape.
struct Label {
  const Rule* rule = nullptr;
  const char* name = nullptr;  ///< its role ("query"); null: named after the rule
  bool in_kernel = false;      ///< see StorageRecord
};

/// Allocates a contiguous tensor on the active run's tape.
Tensor allocate(const Shape& shape, DType dtype, const Label& label);
/// Allocates a dense tensor whose dimensions lie in memory in the order of `like`'s.
Tensor allocate_like(const Tensor& like, const Shape& shape, DType dtype, const Label& label);
/// A tensor that lives outside this device's pools (numbers, CPU tensors).
Tensor allocate_nothing(const Shape& shape, DType dtype);
/// Another tensor over the same storage; no autograd.
Tensor alias(const Tensor& base, const Shape& shape, const Strides& strides);
/// The same tensor without its history.
Tensor detach(const Tensor& tensor);
/// A leaf of `shape` whose memory is not there yet: give_memory() and take_memory() come and go.
Tensor declare(const Shape& shape, DType dtype);
/// Allocates the memory of a declared tensor, `elements` of its format (padding included), on the active stream.
void give_memory(const Tensor& tensor, Size elements, Component component, const Label& label);
/// Frees the memory of a declared tensor, whoever holds it.
void take_memory(const Tensor& tensor);
/// Gives the tensor's storage a component, whatever it was allocated as.
void set_component(const Tensor& tensor, Component component);
/// Notes on the tape why autograd keeps this storage.
void note_kept(const Tensor& tensor, const Rule& rule);
/// Lets go of a list's tensors from first to last, as Python does. In which order a vector does is up to its library.
void let_go(std::vector<Tensor>& list);

}  // namespace trainmem
