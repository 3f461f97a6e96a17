// The border under random configurations and random texts.
#include "engine/border/border.h"

#include <string>

#include "engine/codec/json_config.h"
#include "engine/codec/link.h"
#include "tests/catch.h"
#include "tests/random_config.h"

using namespace trainmem;

TEST_CASE("property: a configuration, its JSON and its link have one answer") {
  Random random(16);
  for (int i = 0; i < 40; ++i) {
    const Config config = random_valid_config(random);
    const std::string by_link = estimate(format_link(config));
    INFO(by_link.substr(0, 300));
    REQUIRE(by_link.substr(0, 11) == "{\"ok\":true,");
    REQUIRE(estimate(write_config(config)) == by_link);
    REQUIRE(estimate(write_config_differences(config)) == by_link);
  }
}

TEST_CASE("property: no text at all makes the border fail") {
  Random random(17);
  for (int i = 0; i < 5000; ++i) {
    const std::string text = random_text(random, 200);
    for (const std::string& answer : {estimate(text), read_link(text), write_link(text), read_measurement(text)}) {
      REQUIRE((answer.substr(0, 11) == "{\"ok\":true," || answer.substr(0, 12) == "{\"ok\":false,"));
      REQUIRE(answer.find("\"internal\"") == std::string::npos);
    }
  }
}
