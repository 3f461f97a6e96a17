// The measured block: read strictly, written as it is read.
#include <string>

#include "engine/border/border.h"
#include "engine/border/json_io_measurement.h"
#include "tests/catch.h"

using namespace trainmem;

namespace {

std::string issues(const std::string& json) {
  std::string all;
  for (const Issue& issue : read_measurements(json).issues) all += issue.code + " " + issue.path + "\n";
  return all;
}

}  // namespace

TEST_CASE("measurement: a block is read as it was written") {
  Measurement written;
  written.bandwidth_gb_per_s = 3012.4;
  written.what = "read, fp32";
  written.device = "a \"GPU\"";
  written.ecc = "off";
  written.kernels.push_back({"read", "", "fp32", 1024, 3012.4, 3000, 3020, 31});
  const ReadMeasurements read = read_measurements(write_measurement(written));
  REQUIRE(read.issues.empty());
  REQUIRE(read.measurements.size() == 1);
  CHECK(read.measurements[0].bandwidth_gb_per_s == 3012.4);
  CHECK(read.measurements[0].what == "read, fp32");
  CHECK(read.measurements[0].device == "a \"GPU\"");
  CHECK(read.measurements[0].ecc == "off");
}

TEST_CASE("measurement: the block of a preset is one, and may stand under its name") {
  CHECK(issues(R"({"bandwidth_gb_per_s": 1375, "what": "triad", "source": "gpu-benches"})").empty());
  CHECK(issues(R"({"measured": {"bandwidth_gb_per_s": 1375}})").empty());
  CHECK(issues(R"([{"bandwidth_gb_per_s": 1375}, {"bandwidth_gb_per_s": 1380}])").empty());
}

TEST_CASE("measurement: everything that is wrong with a text is said") {
  CHECK(issues("").find("not_json") == 0);
  CHECK(issues("{\"bandwidth_gb_per_s\": 13").find("not_json") == 0);
  CHECK(issues("3000") == "wrong_type \n");
  CHECK(issues("[]") == "missing \n");
  CHECK(issues("{}") == "missing /bandwidth_gb_per_s\n");
  CHECK(issues(R"({"bandwidth_gb_per_s": 0})") == "out_of_range /bandwidth_gb_per_s\n");
  CHECK(issues(R"({"bandwidth_gb_per_s": -5})") == "out_of_range /bandwidth_gb_per_s\n");
  CHECK(issues(R"({"bandwidth_gb_per_s": "3 TB/s", "device": 4, "speed": 1})") ==
        "wrong_type /bandwidth_gb_per_s\nwrong_type /device\nunknown_key /speed\n");
  CHECK(issues(R"([{"bandwidth_gb_per_s": 1}, 2])") == "wrong_type /1\n");
  CHECK(issues(R"({"bandwidth_gb_per_s": 1, "bandwidth_gb_per_s": 2})").find("duplicate_key") == 0);
  CHECK(issues(std::string(20000, ' ')) == "too_long \n");
}

TEST_CASE("measurement: the border answers with the bandwidth, or with issues") {
  CHECK(read_measurement(R"({"bandwidth_gb_per_s": 3012.4, "device": "H100"})") ==
        R"({"ok":true,"bandwidth_gb_per_s":3012.4,"device":"H100","what":""})");
  CHECK(read_measurement("nothing").find(R"({"ok":false,"issues":[{"code":"not_json")") == 0);
}
