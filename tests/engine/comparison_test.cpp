// Links of two configurations: both come back, and the second costs only what differs.
#include "engine/codec/comparison.h"

#include <string>

#include "engine/border/answer.h"
#include "engine/border/border.h"
#include "engine/codec/link.h"
#include "engine/config/values.h"
#include "engine/text/json_tree.h"
#include "tests/catch.h"
#include "tests/random_config.h"

using namespace trainmem;

namespace {

Config read(const std::string& link) {
  const ReadConfig found = parse_link(link);
  REQUIRE(found.issues.empty());
  return found.config;
}

std::string both(const std::string& a, const std::string& b) { return format_comparison(read(a), read(b)); }

}  // namespace

TEST_CASE("comparison: the second configuration costs only what differs") {
  const std::string seven = "v=1&model=llama2-7b&gpu=h100-sxm&end";
  CHECK(both(seven, seven) == "v=1&a.model=llama2-7b&a.gpu=h100-sxm&end");
  CHECK(both(seven, "v=1&model=llama2-7b&gpu=h100-sxm&seq=8192&end") ==
        "v=1&a.model=llama2-7b&a.gpu=h100-sxm&b.seq=8192&end");
  CHECK(both("v=1&model=llama2-7b&gpu=h100-sxm&seq=8192&end", seven) ==
        "v=1&a.model=llama2-7b&a.gpu=h100-sxm&a.seq=8192&b.seq=4096&end");
  CHECK(both(seven, "v=1&model=gpt2&gpu=h100-sxm&seq=512&end") ==
        "v=1&a.model=llama2-7b&a.gpu=h100-sxm&b.model=gpt2&b.seq=512&end");
  // GPT-3's sequences end at 2,048 tokens, Llama 2's only when the link says so.
  CHECK(both("v=1&model=gpt3-175b&gpu=h100-sxm&end", "v=1&model=llama2-7b&gpu=h100-sxm&seq=2048&end") ==
        "v=1&a.model=gpt3-175b&a.gpu=h100-sxm&b.model=llama2-7b&b.seq=2048&end");
}

TEST_CASE("comparison: any two configurations come back") {
  Random random(11);
  for (int i = 0; i < 2000; ++i) {
    const Config a = read(format_link(random_valid_config(random)));
    Config other = random_valid_config(random);
    if (random.chance(50)) {
      other = a;
      for (const Field& field : config_fields()) {
        if (random.chance(5) && field.name() != "model_type") copy(field, random_valid_config(random), other);
      }
    }
    const Config b = read(format_link(other));
    const std::string link = format_comparison(a, b);
    INFO(link);
    CHECK(is_comparison(link));
    const ReadComparison found = parse_comparison("https://example.org/#" + link);
    CHECK(found.a.issues.empty());
    CHECK(found.b.issues.empty());
    CHECK(found.a.config == a);
    INFO(format_link(b) << " came back as " << format_link(found.b.config));
    REQUIRE(found.b.config == b);
  }
}

TEST_CASE("comparison: a link that is cut anywhere says so") {
  const std::string link = "v=1&a.model=llama2-7b&a.gpu=h100-sxm&b.seq=8192&end";
  for (std::size_t length = 4; length < link.size(); ++length) {
    const std::string cut = link.substr(0, length);
    if (!is_comparison(cut)) continue;
    INFO(cut);
    CHECK(!parse_comparison(cut).a.issues.empty());
  }
  CHECK(!is_comparison("v=1&model=llama2-7b&end"));
  CHECK(!parse_comparison("v=1&a.model=llama2-7b&b.nothing=1&end").b.issues.empty());
}

TEST_CASE("comparison: the command answers for the second configuration") {
  const Answer answer = answer_request("v=1&a.model=llama2-7b&a.gpu=h100-sxm&b.seq=8192&end");
  REQUIRE(answer.issues.empty());
  CHECK(answer.config.recipe.sequence_length == 8192);
}

TEST_CASE("comparison: any text is read without surprises") {
  Random random(12);
  for (int i = 0; i < 2000; ++i) {
    const std::string text = "a." + random_text(random, 200);
    if (!is_comparison(text)) continue;
    const ReadComparison read = parse_comparison(text);
    const ReadComparison again = parse_comparison(format_comparison(read.a.config, read.b.config));
    INFO(text);
    CHECK(again.a.config == read.a.config);
    CHECK(again.b.config == read.b.config);
  }
}

TEST_CASE("comparison: the border reads and writes it") {
  const std::string link = "v=1&a.model=llama2-7b&a.gpu=h100-sxm&b.seq=8192&end";
  const JsonText answer = parse_json(read_link(link));
  CHECK(answer.root.find("ok")->boolean);
  CHECK(answer.root.find("link")->text == "v=1&model=llama2-7b&gpu=h100-sxm&seq=8192&end");
  REQUIRE(answer.root.find("against") != nullptr);
  CHECK(answer.root.find("against")->find("model")->find("preset")->text == "llama2-7b");
  const JsonText written = parse_json(write_comparison(R"({"model":"llama2-7b","gpu":"h100-sxm"})",
                                                       R"({"model":"llama2-7b","gpu":"h100-sxm",)"
                                                       R"("recipe":{"sequence_length":8192}})"));
  CHECK(written.root.find("link")->text == link);
}
