// Memory for the small objects of a run: reused through a free list of each type, never returned to the system.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace trainmem {

/// Gives class T (class T : Pooled<T>) a free list of its own per thread.
template <class T>
class Pooled {
 public:
  static void* operator new(std::size_t) {
    Free& free = list();
    if (free.next == nullptr) grow(free);
    Link* link = free.next;
    free.next = link->next;
    return link;
  }
  static void operator delete(void* memory) {
    Free& free = list();
    auto* link = ::new (memory) Link;
    link->next = free.next;
    free.next = link;
  }

 private:
  struct Link {
    Link* next = nullptr;
  };
  struct Free {
    Link* next = nullptr;
    std::vector<std::unique_ptr<std::byte[]>> chunks;
  };
  static constexpr std::size_t objects_in_chunk = 256;

  static Free& list() {
    static thread_local Free free;
    return free;
  }
  static void grow(Free& free) {
    free.chunks.push_back(std::make_unique<std::byte[]>(sizeof(T) * objects_in_chunk));
    std::byte* memory = free.chunks.back().get();
    for (std::size_t i = 0; i < objects_in_chunk; ++i) operator delete(memory + i * sizeof(T));
  }
};

}  // namespace trainmem
