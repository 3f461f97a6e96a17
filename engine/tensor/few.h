// A short list and a callable that keep their contents in place.
#pragma once

#include <array>
#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace trainmem {

/// A list whose first N elements lie in place, for lists that are nearly always that short.
template <class T, std::size_t N>
class Few {
 public:
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return i < N ? first_[i] : rest_[i - N]; }
  const T& operator[](std::size_t i) const { return i < N ? first_[i] : rest_[i - N]; }
  T& back() { return (*this)[size_ - 1]; }
  void push_back(T value) {
    if (size_ < N)
      first_[size_] = std::move(value);
    else
      rest_.push_back(std::move(value));
    ++size_;
  }
  void resize(std::size_t size) {
    while (size_ < size) push_back(T());
  }
  void clear() {
    for (std::size_t i = 0; i < size_ && i < N; ++i) first_[i] = T();
    rest_.clear();
    size_ = 0;
  }

 private:
  std::array<T, N> first_{};
  std::vector<T> rest_;
  std::size_t size_ = 0;
};

/// A callable void(Argument&) with its captures in place; move-only, at most Capacity bytes of captures.
template <class Argument, std::size_t Capacity>
class InPlaceFunction {
 public:
  InPlaceFunction() = default;
  InPlaceFunction(const InPlaceFunction&) = delete;
  InPlaceFunction& operator=(const InPlaceFunction&) = delete;
  ~InPlaceFunction() { reset(); }

  template <class Callable>
  InPlaceFunction& operator=(Callable&& callable) {
    using Stored = std::decay_t<Callable>;
    static_assert(sizeof(Stored) <= Capacity, "too many captures");
    reset();
    ::new (static_cast<void*>(memory_.data())) Stored(std::forward<Callable>(callable));
    call_ = [](void* stored, Argument& argument) { (*static_cast<Stored*>(stored))(argument); };
    if constexpr (!std::is_trivially_destructible_v<Stored>)
      destroy_ = [](void* stored) { static_cast<Stored*>(stored)->~Stored(); };
    return *this;
  }

  explicit operator bool() const { return call_ != nullptr; }
  void operator()(Argument& argument) { call_(memory_.data(), argument); }

 private:
  void reset() {
    if (destroy_ != nullptr) destroy_(memory_.data());
    call_ = nullptr;
    destroy_ = nullptr;
  }

  alignas(std::max_align_t) std::array<std::byte, Capacity> memory_;
  void (*call_)(void*, Argument&) = nullptr;
  void (*destroy_)(void*) = nullptr;
};

}  // namespace trainmem
