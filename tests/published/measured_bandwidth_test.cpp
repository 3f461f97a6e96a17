// Measured bandwidths of the presets against the published results that they come from.
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/border/json_io_measurement.h"
#include "engine/presets/apply.h"
#include "engine/presets/presets.h"
#include "tests/catch.h"
#include "tests/source_folder.h"

using namespace trainmem;

namespace {

nlohmann::json preset_file(const std::string& id) {
  std::ifstream file(source_folder() + "/presets/gpus/" + id + ".json");
  return nlohmann::json::parse(file);
}

}  // namespace

// RRZE-HPC/gpu-benches, gpu-stream, best row of the fp64 triad (3 loads and 1 store) or, for the V100, of scale.
TEST_CASE("gpu-benches: the presets' measured bandwidths are the published ones, 75 to 97 % of the datasheet") {
  struct Case {
    const char* id;
    double published_gb_per_s;
  };
  const Case cases[] = {{"v100-pcie-16gb", 809},
                        {"a100-40gb-sxm", 1375},
                        {"a100-80gb-sxm", 1794},
                        {"h100-pcie", 1832},
                        {"gh200-96gb", 3783},
                        {"l40", 831},
                        {"a40", 671},
                        {"mi210", 1232}};
  for (const Case& one : cases) {
    INFO(one.id);
    Config config;
    Issues issues;
    apply_gpu_preset(one.id, config, issues);
    REQUIRE(issues.empty());
    CHECK(config.gpu.measured_bandwidth_gb_per_s == one.published_gb_per_s);
    const double share = one.published_gb_per_s / config.gpu.bandwidth_gb_per_s;
    CHECK(share > 0.75);
    CHECK(share < 0.97);
  }
}

TEST_CASE("measurement: the measured block of every preset is one that the calculator takes") {
  int blocks = 0;
  for (const PresetText& gpu : gpu_presets()) {
    const nlohmann::json file = preset_file(std::string(gpu.id));
    if (!file.contains("measured")) continue;
    INFO(gpu.id);
    const ReadMeasurements read = read_measurements(file["measured"].dump());
    CHECK(read.issues.empty());
    REQUIRE(read.measurements.size() == 1);
    CHECK(read.measurements[0].bandwidth_gb_per_s == file["measured_bandwidth_gb_per_s"]);
    ++blocks;
  }
  CHECK(blocks >= 13);
}
