#include <ucontext.h>

#include <memory>
#include <vector>

#include "cuda_runtime.h"

namespace {

constexpr std::size_t stack_bytes = 32 << 10;

struct Thread {
  ucontext_t context{};
  std::unique_ptr<char[]> stack{new char[stack_bytes]};
  bool finished = false;
};

std::vector<Thread> threads_of_a_block;
std::size_t running = 0;
ucontext_t scheduler;
const std::function<void()>* body = nullptr;

void enter() {
  (*body)();
  threads_of_a_block[running].finished = true;
  swapcontext(&threads_of_a_block[running].context, &scheduler);
}

}  // namespace

void __syncthreads() { swapcontext(&threads_of_a_block[running].context, &scheduler); }

namespace {

/// Lets thread `index` run to its next barrier, or to its end.
void resume(unsigned int index) {
  running = index;
  threadIdx.x = index;
  swapcontext(&scheduler, &threads_of_a_block[index].context);
}

void begin(unsigned int index) {
  Thread& fresh = threads_of_a_block[index];
  fresh.finished = false;
  getcontext(&fresh.context);
  fresh.context.uc_stack.ss_sp = fresh.stack.get();
  fresh.context.uc_stack.ss_size = stack_bytes;
  fresh.context.uc_link = nullptr;
  makecontext(&fresh.context, enter, 0);
  resume(index);
}

}  // namespace

void host_runtime::run_block(unsigned int threads, const std::function<void()>& thread) {
  body = &thread;
  if (threads_of_a_block.size() < threads) threads_of_a_block.resize(threads);
  begin(0);
  if (threads_of_a_block[0].finished) {  // no barrier: the others need no stack of their own
    for (unsigned int i = 1; i < threads; ++i) {
      threadIdx.x = i;
      thread();
    }
    return;
  }
  for (unsigned int i = 1; i < threads; ++i) begin(i);
  // All threads of a block come to the same barriers.
  while (!threads_of_a_block[0].finished)
    for (unsigned int i = 0; i < threads; ++i) resume(i);
}
