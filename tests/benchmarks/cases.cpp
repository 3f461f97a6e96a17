#include "tests/benchmarks/cases.h"

#include <cstdlib>
#include <memory>

#include "engine/border/border.h"
#include "engine/codec/json_config.h"
#include "engine/estimate.h"
#include "engine/peak/peak.h"
#include "engine/peak/peak_pricer.h"

namespace trainmem::benchmarks {

namespace {

struct Request {
  const char* name;
  const char* json;
};

constexpr Request requests[] = {
    {"7B, one GPU", R"({"model":"llama2-7b","gpu":"h100-sxm","recipe":"bf16-one-gpu"})"},
    {"175B, tensor 8, pipeline 16", R"({"model":"gpt3-175b","gpu":"a100-80gb-sxm","recipe":"megatron-gpt3-175b"})"},
    {"405B, FSDP on 512",
     R"({"model":"llama3.1-405b","gpu":"h100-sxm","recipe":{"preset":"torchtitan-llama3-8b","data_parallel_size":512,)"
     R"("recomputation":"full"}})"},
};

/// A sweep over sequence lengths and micro-batches: no two calls in a row ask for the same sizes.
Case sweep(const Request& request, const Config& config) {
  const auto pricer = std::make_shared<PeakPricer>();
  return {std::string(request.name) + ": peak in a sweep", [pricer, config = Config(config), turn = 0]() mutable {
            turn = (turn + 1) % 64;
            config.recipe.micro_batch_size = 2 + turn % 4;
            config.recipe.sequence_length = 1024 + 128 * turn;
            return static_cast<double>(pricer->peak(config).allocated);
          }};
}

}  // namespace

std::vector<Case> cases() {
  std::vector<Case> result;
  for (const Request& request : requests) {
    ReadConfig read = read_config(request.json);
    if (!read.issues.empty()) std::abort();
    const auto config = std::make_shared<const Config>(std::move(read.config));
    result.push_back(sweep(request, *config));
    result.push_back({std::string(request.name) + ": peak by a run",
                      [config] { return static_cast<double>(estimate_peak(*config).allocated); }});
    result.push_back({std::string(request.name) + ": result, reserved too",
                      [config] { return static_cast<double>(estimate(*config).reserved.expected); }});
    result.push_back({std::string(request.name) + ": answer as text",
                      [text = std::string(request.json)] { return static_cast<double>(estimate(text).size()); }});
  }
  return result;
}

}  // namespace trainmem::benchmarks
