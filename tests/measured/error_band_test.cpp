// The bands that every answer has are the residuals of the runs at hand.
#include "engine/error_band.h"

#include <string>

#include "engine/accuracy/accuracy.h"
#include "tests/catch.h"
#include "tests/source_folder.h"

using namespace trainmem;

TEST_CASE("error bands: the table holds what recorded steps and published runs show, to a tenth of a percent") {
  CaseFolder cases = read_cases(source_folder() + "/tests/traces");
  cases.add(read_cases(source_folder() + "/tests/measured"));
  const Accuracy accuracy = measure(cases);
  const std::vector<ResidualBand> bands = residual_bands(accuracy);
  REQUIRE(bands.size() >= 7);
  for (const ResidualBand& found : bands) {
    CAPTURE(found.kind, found.runs);
    bool known = false;
    for (const ErrorBand& band : error_bands()) {
      if (found.kind != band.kind) continue;
      known = true;
      CHECK(band.under == Approx(found.under).margin(0.001));
      CHECK(band.over == Approx(found.over).margin(0.001));
    }
    CHECK(known);
  }
}

TEST_CASE("error bands: a run that nobody has measured gets the widest band") {
  Recipe recipe;
  recipe.framework = Framework::deepspeed;
  recipe.data_parallel = DataParallel::zero3;
  recipe.data_parallel_size = 8;
  CHECK(std::string(error_kind(recipe)) == "ZeRO");
  for (const ErrorBand& band : error_bands())
    CHECK(error_band(recipe).over - error_band(recipe).under >= band.over - band.under);
}

TEST_CASE("error bands: what is measured where 1000 bytes are computed") {
  const Range range = measured_range(1000, {"a kind", -0.2, 0.25}, 0);
  CHECK(range.low == 800);    // 800 would be computed 25 % too high
  CHECK(range.high == 1250);  // 1250 would be computed 20 % too low
  CHECK(range.expected == 1000);
  CHECK(measured_range(1000, {"a kind", -0.2, 0.25}, 900).low == 900);
}
