// The benchmark's kernels, launches and verification, run on the processor (host_runtime/cuda_runtime.h).
#include "engine/microbench/gpu.h"
#include "tests/catch.h"
#include "tests/microbench/host_runtime/cuda_runtime.h"

using namespace trainmem::microbench;

namespace {

Job job(Kernel kernel, Variant variant, Element element) {
  Job result;
  result.kernel = kernel;
  result.variant = variant;
  result.element = element;
  result.array_bytes = size_step;
  result.repeats = 1;
  result.warm_up = 0;
  return result;
}

/// Sets one bit of the fraction of one element of the n-th array (a, b, c) before every kernel, while it lives.
struct Damage {
  Damage(std::size_t array, Element element) {
    const std::size_t wanted = host_runtime::allocations + array;
    const auto byte = static_cast<std::size_t>(element_size(element) - 2);
    host_runtime::before_kernel = [=] {
      const auto found = host_runtime::arrays.find(wanted);
      if (found == host_runtime::arrays.end()) return;
      const auto [memory, bytes] = found->second;
      memory[bytes / 2 + byte] = static_cast<char>(memory[bytes / 2 + byte] | 0x04);
    };
  }
  ~Damage() { host_runtime::before_kernel = nullptr; }
  Damage(const Damage&) = delete;
  Damage& operator=(const Damage&) = delete;
};

}  // namespace

TEST_CASE("kernels on the processor: every kernel of every variant computes what it names, in both element types") {
  for (const KernelFacts& kernel : kernels) {
    for (const Variant variant : {Variant::tuned, Variant::plain, Variant::runtime}) {
      if (!has_variant(kernel.kernel, variant)) continue;
      for (const Element element : {Element::fp32, Element::fp64}) {
        INFO(kernel.name << " " << name(variant) << " " << name(element));
        const Outcome outcome = measure(job(kernel.kernel, variant, element));
        CHECK(outcome.problem.empty());
        REQUIRE(outcome.seconds.size() == 1);
        CHECK(outcome.seconds[0] > 0);
      }
    }
  }
  CHECK(host_runtime::in_use == 0);
}

TEST_CASE("kernels on the processor: one wrong bit in a result, or in what was read, fails the run") {
  for (const Element element : {Element::fp32, Element::fp64}) {
    for (const Kernel kernel : {Kernel::write, Kernel::copy, Kernel::scale, Kernel::add, Kernel::triad}) {
      const Damage damage(2, element);
      const Outcome outcome = measure(job(kernel, Variant::tuned, element));
      CHECK(outcome.problem == "1 elements of the result are wrong");
      CHECK(outcome.seconds.empty());
    }
    const Damage damage(0, element);
    CHECK(measure(job(Kernel::read, Variant::tuned, element)).problem == "the sum that was read is wrong");
  }
}

TEST_CASE("microbench: memory that is not there, and a device that is not, are said") {
  Job large = job(Kernel::copy, Variant::tuned, Element::fp32);
  large.array_bytes = static_cast<trainmem::Bytes>(host_runtime::memory_bytes);
  CHECK(measure(large).problem == "memory for an array: out of memory");
  Job elsewhere = job(Kernel::copy, Variant::tuned, Element::fp32);
  elsewhere.device = 3;
  CHECK(measure(elsewhere).problem == "device: invalid device ordinal");
  CHECK(host_runtime::in_use == 0);
}
