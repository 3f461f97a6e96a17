// The benchmark on a GPU, for CUDA and HIP alike: launches, timing by device events, verification.
#include <cstdio>
#include <memory>
#include <type_traits>

#include "engine/microbench/gpu.h"
#include "engine/microbench/kernels.cuh"
#include "engine/microbench/sizes.h"

namespace trainmem::microbench {

namespace {

using Status = GPU(Error_t);

/// The first thing that went wrong; later calls are left out.
class Problem {
 public:
  bool good() const { return text_.empty(); }
  const std::string& text() const { return text_; }
  void set(const std::string& text) {
    if (good()) text_ = text;
  }
  void check(Status status, const char* what) {
    if (status != GPU(Success)) set(std::string(what) + ": " + GPU(GetErrorString)(status));
  }

 private:
  std::string text_;
};

struct FreeMemory {
  void operator()(void* memory) const { (void)GPU(Free)(memory); }
};
template <class T>
using DeviceMemory = std::unique_ptr<T, FreeMemory>;

template <class T>
DeviceMemory<T> allocate(Bytes bytes, Problem& problem) {
  void* memory = nullptr;
  problem.check(GPU(Malloc)(&memory, static_cast<std::size_t>(bytes)), "memory for an array");
  return DeviceMemory<T>(static_cast<T*>(memory));
}

class Event {
 public:
  explicit Event(Problem& problem) { problem.check(GPU(EventCreate)(&event_), "event"); }
  ~Event() {
    if (event_ != nullptr) (void)GPU(EventDestroy)(event_);
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  GPU(Event_t) get() const { return event_; }

 private:
  GPU(Event_t) event_ = nullptr;
};

/// Seconds of one of `launches` launches in a row: from the first to the last, without the host.
template <class Launch>
double timed(const Launch& launch, int launches, Problem& problem) {
  const Event start(problem);
  const Event stop(problem);
  if (!problem.good()) return 0;
  problem.check(GPU(EventRecord)(start.get(), nullptr), "event");
  for (int i = 0; i < launches; ++i) launch();
  problem.check(GPU(GetLastError)(), "launch");
  problem.check(GPU(EventRecord)(stop.get(), nullptr), "event");
  problem.check(GPU(EventSynchronize)(stop.get()), "kernel");
  float milliseconds = 0;
  if (problem.good()) problem.check(GPU(EventElapsedTime)(&milliseconds, start.get(), stop.get()), "event");
  return static_cast<double>(milliseconds) * 1e-3 / launches;
}

/// How a kernel is launched: what is tried before measuring.
struct LaunchShape {
  int unroll = 1;
  bool streaming = false;
  unsigned int threads = 256;
};

template <class T, Kernel kernel, int unroll, bool streaming>
void launch_with(const Arrays<T>& arrays, Bytes array_bytes, unsigned int threads) {
  const auto blocks = static_cast<unsigned int>(array_bytes / (16LL * unroll * threads));
  if constexpr (kernel == Kernel::read) {
    start(read_array<T, unroll, streaming>, blocks, threads, arrays);
  } else {
    start(sweep_arrays<T, kernel, unroll, streaming>, blocks, threads, arrays);
  }
}

template <class T, Kernel kernel>
void launch(const Arrays<T>& arrays, Bytes array_bytes, const LaunchShape& shape) {
  const auto with = [&](auto unroll) {
    if (shape.streaming) {
      launch_with<T, kernel, decltype(unroll)::value, true>(arrays, array_bytes, shape.threads);
    } else {
      launch_with<T, kernel, decltype(unroll)::value, false>(arrays, array_bytes, shape.threads);
    }
  };
  switch (shape.unroll) {
    case 1: with(std::integral_constant<int, 1>()); break;
    case 2: with(std::integral_constant<int, 2>()); break;
    case 4: with(std::integral_constant<int, 4>()); break;
    default: with(std::integral_constant<int, 8>()); break;
  }
}

std::vector<LaunchShape> launch_shapes() {
  std::vector<LaunchShape> shapes;
  for (const int unroll : {1, 2, 4, 8})
    for (const bool streaming : {false, true})
      for (const unsigned int threads : {256U, 512U, 1024U}) shapes.push_back({unroll, streaming, threads});
  return shapes;
}

unsigned int blocks_of_sums(Bytes array_bytes, const LaunchShape& shape) {
  return static_cast<unsigned int>(array_bytes / (16LL * shape.unroll * shape.threads));
}

template <class T, Kernel kernel>
class Measurement {
 public:
  explicit Measurement(const Job& job)
      : job_(job),
        elements_(job.array_bytes / static_cast<Bytes>(sizeof(T))),
        a_(allocate<T>(job.array_bytes, problem_)),
        b_(allocate<T>(job.array_bytes, problem_)),
        c_(allocate<T>(job.array_bytes, problem_)),
        sums_(allocate<double>(job.array_bytes / (16 * 256) * static_cast<Bytes>(sizeof(double)), problem_)),
        wrong_(allocate<unsigned long long>(sizeof(unsigned long long), problem_)),
        arrays_{a_.get(), b_.get(), c_.get(), sums_.get()} {}

  Outcome operator()() {
    prepare();
    if (problem_.good() && job_.variant == Variant::tuned) choose_shape();
    const auto run = [&] { launch_once(); };
    const double first = problem_.good() ? timed(run, 1, problem_) : 0;
    const int launches = launches_in_sample(first);
    for (int i = 0; i < job_.warm_up && problem_.good(); ++i) timed(run, launches, problem_);
    std::vector<double> seconds;
    for (int i = 0; i < job_.repeats && problem_.good(); ++i) seconds.push_back(timed(run, launches, problem_));
    if (problem_.good()) verify();
    return {problem_.good() ? seconds : std::vector<double>(), problem_.text()};
  }

 private:
  /// a and b hold their values; c holds what no kernel writes.
  void prepare() {
    if (!problem_.good()) return;
    start(fill<T>, 1024, 256, arrays_, elements_);
    problem_.check(GPU(GetLastError)(), "launch");
    spoil();
  }

  void spoil() {
    problem_.check(GPU(Memset)(arrays_.c, 0xFF, static_cast<std::size_t>(job_.array_bytes)), "memset");
    problem_.check(GPU(DeviceSynchronize)(), "kernel");
  }

  void launch_once() {
    if (job_.variant == Variant::runtime) {
      problem_.check(GPU(MemcpyAsync)(arrays_.c, arrays_.a, static_cast<std::size_t>(job_.array_bytes),
                                      GPU(MemcpyDeviceToDevice), nullptr),
                     "copy");
    } else if (job_.variant == Variant::plain) {
      start(plain<T, kernel>, static_cast<unsigned int>(elements_ / 1024), 1024, arrays_);
    } else {
      launch<T, kernel>(arrays_, job_.array_bytes, shape_);
    }
  }

  void choose_shape() {
    LaunchShape best;
    double shortest = 0;
    for (const LaunchShape& shape : launch_shapes()) {
      shape_ = shape;
      const auto run = [&] { launch_once(); };
      timed(run, 1, problem_);
      const double seconds = timed(run, 3, problem_);
      if (!problem_.good()) return;
      if (shortest > 0 && seconds >= shortest) continue;
      shortest = seconds;
      best = shape;
    }
    shape_ = best;
    spoil();
  }

  void verify() {
    if constexpr (kernel == Kernel::read) {
      verify_sum();
    } else {
      problem_.check(GPU(Memset)(wrong_.get(), 0, sizeof(unsigned long long)), "memset");
      start(count_wrong<T, kernel>, 1024, 256, arrays_, elements_, wrong_.get());
      problem_.check(GPU(GetLastError)(), "launch");
      unsigned long long wrong = 0;
      problem_.check(GPU(Memcpy)(&wrong, wrong_.get(), sizeof(wrong), GPU(MemcpyDeviceToHost)), "copy");
      if (wrong > 0) problem_.set(std::to_string(wrong) + " elements of the result are wrong");
    }
  }

  /// The values of a repeat every 1,024 elements and sum to 1024 + 1023 / 2 over them. They are multiples of 2^-10, so
  /// sums of up to 2^43 are exact in fp64, in any order.
  void verify_sum() {
    std::vector<double> sums(blocks_of_sums(job_.array_bytes, shape_));
    problem_.check(GPU(Memcpy)(sums.data(), arrays_.sums, sums.size() * sizeof(double), GPU(MemcpyDeviceToHost)),
                   "copy");
    double sum = 0;
    for (const double part : sums) sum += part;
    const double expected = static_cast<double>(elements_ / 1024) * (1024 + 1023.0 / 2);
    if (problem_.good() && sum != expected) problem_.set("the sum that was read is wrong");
  }

  const Job job_;
  Problem problem_;
  const long long elements_;
  const DeviceMemory<T> a_;
  const DeviceMemory<T> b_;
  const DeviceMemory<T> c_;
  const DeviceMemory<double> sums_;
  const DeviceMemory<unsigned long long> wrong_;
  const Arrays<T> arrays_;
  LaunchShape shape_;
};

template <class T>
Outcome measure_as(const Job& job) {
  switch (job.kernel) {
    case Kernel::read: return Measurement<T, Kernel::read>(job)();
    case Kernel::write: return Measurement<T, Kernel::write>(job)();
    case Kernel::copy: return Measurement<T, Kernel::copy>(job)();
    case Kernel::scale: return Measurement<T, Kernel::scale>(job)();
    case Kernel::add: return Measurement<T, Kernel::add>(job)();
    case Kernel::triad: return Measurement<T, Kernel::triad>(job)();
  }
  return {{}, "no such kernel"};
}

std::string text_of_file(const char* path) {
  std::FILE* file = std::fopen(path, "r");
  if (file == nullptr) return "";
  char text[500];
  const std::size_t length = std::fread(text, 1, sizeof(text), file);
  std::fclose(file);
  return std::string(text, length);
}

int attribute(DeviceAttribute which, int device, int unknown = 0) {
  int value = 0;
  return GPU(DeviceGetAttribute)(&value, which, device) == GPU(Success) ? value : unknown;
}

}  // namespace

DeviceCount count_devices() {
  int devices = 0;
  const Status status = GPU(GetDeviceCount)(&devices);
  if (status != GPU(Success)) return {0, GPU(GetErrorString)(status)};
  return {devices, devices == 0 ? "the runtime sees none" : ""};
}

DeviceFacts device_facts(int index) {
  DeviceFacts device;
  device.index = index;
  DeviceProperties properties;
  if (GPU(GetDeviceProperties)(&properties, index) == GPU(Success)) device.name = properties.name;
  std::size_t free_bytes = 0;
  std::size_t all_bytes = 0;
  if (GPU(SetDevice)(index) == GPU(Success) && GPU(MemGetInfo)(&free_bytes, &all_bytes) == GPU(Success)) {
    device.free_bytes = static_cast<Bytes>(free_bytes);
    device.memory_bytes = static_cast<Bytes>(all_bytes);
  }
  int version = 0;
#if GPU_IS_HIP
  if (GPU(RuntimeGetVersion)(&version) == GPU(Success)) device.runtime = hip_version(version);
  device.driver = driver_version(text_of_file("/sys/module/amdgpu/version"));
  device.memory_clock_khz = attribute(hipDeviceAttributeMemoryClockRate, index);
  device.core_clock_khz = attribute(hipDeviceAttributeClockRate, index);
  device.bus_width_bits = attribute(hipDeviceAttributeMemoryBusWidth, index);
  device.multiprocessors = attribute(hipDeviceAttributeMultiprocessorCount, index);
  device.cache_bytes = attribute(hipDeviceAttributeL2CacheSize, index);
  device.ecc = attribute(hipDeviceAttributeEccEnabled, index, -1);
#else
  if (GPU(RuntimeGetVersion)(&version) == GPU(Success)) device.runtime = cuda_version(version);
  device.driver = driver_version(text_of_file("/proc/driver/nvidia/version"));
  device.memory_clock_khz = attribute(cudaDevAttrMemoryClockRate, index);
  device.core_clock_khz = attribute(cudaDevAttrClockRate, index);
  device.bus_width_bits = attribute(cudaDevAttrGlobalMemoryBusWidth, index);
  device.multiprocessors = attribute(cudaDevAttrMultiProcessorCount, index);
  device.cache_bytes = attribute(cudaDevAttrL2CacheSize, index);
  device.ecc = attribute(cudaDevAttrEccEnabled, index, -1);
#endif
  return device;
}

Outcome measure(const Job& job) {
  Problem problem;
  problem.check(GPU(SetDevice)(job.device), "device");
  if (!problem.good()) return {{}, problem.text()};
  return job.element == Element::fp64 ? measure_as<double>(job) : measure_as<float>(job);
}

}  // namespace trainmem::microbench
