// Links: one configuration, one text; and whatever happens to a link on its way, it is noticed.
#include "engine/codec/link.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <string>

#include "engine/codec/comparison.h"
#include "engine/config/values.h"
#include "engine/presets/apply.h"
#include "tests/catch.h"
#include "tests/random_config.h"
#include "tests/source_folder.h"

using namespace trainmem;

namespace {

std::string issues_of(const std::string& link) {
  std::string all;
  for (const Issue& issue : parse_link(link).issues) all += issue.code + " " + issue.path + "; ";
  return all;
}

struct GoldenLink {
  std::string link;
  std::string differences;  ///< JSON
  std::string today;        ///< how the same configuration is written now
};

/// Every link of tests/goldens/links.txt: one a line, "= " and what it opens as below it, "> " and how it is written
/// now where that has become shorter.
std::vector<GoldenLink> golden_links() {
  std::ifstream file(source_folder() + "/tests/goldens/links.txt");
  std::vector<GoldenLink> links;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == ';') continue;
    if (line.substr(0, 2) == "= ") {
      links.back().differences = line.substr(2);
    } else if (line.substr(0, 2) == "> ") {
      links.back().today = line.substr(2);
    } else {
      links.push_back({line, "", line});
    }
  }
  return links;
}

}  // namespace

TEST_CASE("link: readable, in one order, only what differs") {
  Config config;
  Issues issues;
  apply_model_preset("llama2-7b", config, issues);
  apply_gpu_preset("h100-sxm", config, issues);
  CHECK(format_link(config) == "v=1&model=llama2-7b&gpu=h100-sxm&end");
  config.recipe.tensor_parallel = 8;
  config.recipe.sequence_length = 8192;
  config.recipe.optimizer = Optimizer::sgd;
  config.recipe.lora.dropout = 0.05;
  config.recipe.sequence_parallel = true;
  CHECK(format_link(config) == "v=1&model=llama2-7b&gpu=h100-sxm&seq=8192&opt=sgd&tp=8&sp=1&lora_drop=0.05&end");
  config.gpu.name = "my GPU & more";
  CHECK(format_link(config).find("&gpu_name=my%20GPU%20%26%20more&") != std::string::npos);
}

TEST_CASE("link: without a length, sequences are no longer than the model's table of positions") {
  const Config gpt2 = parse_link("v=1&model=gpt2&gpu=h100-sxm&end").config;
  CHECK(gpt2.recipe.sequence_length == 1024);  // n_ctx of its config.json
  CHECK(format_link(gpt2) == "v=1&model=gpt2&gpu=h100-sxm&end");
  const char* longer = "v=1&model=gpt2&gpu=h100-sxm&seq=4096&end";
  CHECK(format_link(parse_link(longer).config) == longer);
  CHECK(parse_link("v=1&model=llama2-7b&end").config.recipe.sequence_length == 4096);
}

TEST_CASE("link: a whole address, a fragment, a query and the bare text are the same link") {
  const Config expected = parse_link("v=1&model=gpt2&tp=2&end").config;
  for (const char* text :
       {"#v=1&model=gpt2&tp=2&end", "?v=1&model=gpt2&tp=2&end", " v=1&model=gpt2&tp=2&end\n",
        "https://example.org/trainmem/#v=1&model=gpt2&tp=2&end", "https://example.org/?v=1&model=gpt2&tp=2&end",
        "https://example.org/?a=1#v=1&model=gpt2&tp=2&end", "v=1&tp=2&model=gpt2&end", "v=1&model=%67pt2&t%70=2&end",
        "model=gpt2&tp=2"}) {
    INFO(text);
    CHECK(issues_of(text).empty());
    CHECK(parse_link(text).config == expected);
    CHECK(format_link(parse_link(text).config) == "v=1&model=gpt2&tp=2&end");
  }
}

TEST_CASE("link: everything wrong is named, and the rest applied") {
  const std::string link =
      "v=1&model=gpt2&gpu=h100&tp=2&tp=4&mbs=x&seq=0&foo=1&opt=adam&ga=%zz&clip=maybe&pp=1.5&dp=4&end";
  CHECK(issues_of(link) ==
        "bad_encoding /link/ga; duplicate_key /link/tp; unknown_preset /gpu; wrong_type /recipe/micro_batch_size; "
        "out_of_range /recipe/sequence_length; unknown_key /link/foo; unknown_word /recipe/optimizer; "
        "wrong_type /recipe/gradient_clipping; wrong_type /recipe/pipeline_parallel; ");
  CHECK(parse_link(link).config.recipe.data_parallel_size == 4);
  CHECK(parse_link(link).config.recipe.tensor_parallel == 2);
  CHECK(parse_link(link).config.recipe.micro_batch_size == 1);
}

TEST_CASE("link: thousands of parts are refused, and hundreds of unknown ones named without a search for words") {
  const std::string many = "v=1&" + std::string(4000, '&') + "end";
  CHECK(parse_link(many).issues.at(0).message == "The link has 4002 parts.");
  CHECK(!parse_link(many).readable);
  CHECK(parse_comparison("a.model=llama2-7b&" + many).b.issues.size() == 1);
  std::string unknown = "v=1&model=llama2-7b";
  for (int i = 0; i < 300; ++i) unknown += "&sequence" + std::to_string(i) + "=1";
  const Issues issues = parse_link(unknown + "&end").issues;
  CHECK(issues.size() == 300);
  CHECK(issues.front().hint.find("Did you mean") == 0);
  CHECK(issues.back().hint.find("Did you mean") == std::string::npos);
  const std::string written = write_issues(issues);
  CHECK(written.find("sequence39") != std::string::npos);
  CHECK(written.find("sequence40") == std::string::npos);
  CHECK(written.find("There are 260 more.") != std::string::npos);
}

TEST_CASE("link: two configurations that set every field have few enough parts and bytes") {
  std::size_t bytes = 0;
  std::size_t parts = 5;
  for (const Field& field : config_fields()) {
    bytes += 2 * (std::string_view(field.key).size() + 4);
    parts += 2;
  }
  CHECK(parts < static_cast<std::size_t>(most_parts));
  CHECK(bytes < static_cast<std::size_t>(longest_link));
}

TEST_CASE("link: settings of the page are no part of the configuration") {
  const ReadConfig read = parse_link("v=1&model=llama2-7b&gpu=h100-sxm&view.units=GB&end");
  CHECK(read.issues.empty());
  CHECK(format_link(read.config) == "v=1&model=llama2-7b&gpu=h100-sxm&end");
}

TEST_CASE("link: with a model that cannot be read, a recipe has its own, and says so") {
  const std::string own = format_link(parse_link("v=1&gpu=h100-sxm&recipe=torchtitan-2026-qwen3-32b&end").config);
  CHECK(own == "v=1&model=qwen3-32b&gpu=h100-sxm&recipe=torchtitan-2026-qwen3-32b&end");
  for (const char* said : {"model=qen3-32b", "hidden=many", "model=&kv_heads=-1"}) {
    const ReadConfig read =
        parse_link("v=1&" + std::string(said) + "&gpu=h100-sxm&recipe=torchtitan-2026-qwen3-32b&end");
    CHECK(!read.issues.empty());
    CHECK(format_link(read.config) == own);
  }
  // A size that is as in a model of which nothing is said does not make one.
  const Config tied = parse_link("v=1&tied=0&recipe=bf16-one-gpu&end").config;
  CHECK(!tied.model_preset.empty());
  CHECK(format_link(parse_link(format_link(tied)).config) == format_link(tied));
  CHECK(issues_of("v=1&model=qen3-32b&gpu=h100-sxm&end") == "unknown_preset /model; ");
}

TEST_CASE("link: a newer version says so") {
  CHECK(issues_of("v=2&model=gpt2&end") == "newer_version /link/v; ");
  CHECK(issues_of("v=0&model=gpt2&end") == "wrong_type /link/v; ");
  CHECK(issues_of("v=x&model=gpt2&end") == "wrong_type /link/v; ");
  CHECK(issues_of("v=99999999999999999999&model=gpt2&end") == "wrong_type /link/v; ");
}

TEST_CASE("link: without a model, or as something else, it is refused") {
  CHECK(issues_of("") == "missing /model; ");
  CHECK(issues_of("https://example.org/") == "missing /model; ");
  CHECK(issues_of("v=1&tp=2&end") == "missing /model; ");
  CHECK(issues_of(std::string(8193, 'x')) == "too_long ; ");
}

TEST_CASE("link: parse and format are inverse for thousands of configurations") {
  Random random(3);
  std::size_t longest = 0;
  for (int i = 0; i < 5000; ++i) {
    const Config config = random_fields(random);
    const std::string link = format_link(config);
    longest = std::max(longest, link.size());
    INFO(link);
    const ReadConfig again = parse_link(link);
    REQUIRE(again.issues.empty());
    REQUIRE(again.config == config);
    REQUIRE(format_link(again.config) == link);
  }
  CHECK(longest < static_cast<std::size_t>(longest_link));
}

TEST_CASE("link: what was read from any text at all has a canonical link") {
  Random random(4);
  for (int i = 0; i < 20000; ++i) {
    const std::string link = format_link(parse_link(random_text(random, 120)).config);
    INFO(link);
    REQUIRE(format_link(parse_link(link).config) == link);
  }
}

TEST_CASE("link: cut at any byte it gives the same configuration or an issue") {
  Random random(5);
  std::vector<std::string> links;
  for (const auto& [link, differences, today] : golden_links()) links.push_back(link);
  for (int i = 0; i < 40; ++i) links.push_back(format_link(random_valid_config(random)));
  for (const std::string& link : links) {
    const Config whole = parse_link(link).config;
    for (std::size_t length = 0; length < link.size(); ++length) {
      const ReadConfig cut = parse_link(link.substr(0, length));
      INFO(link.substr(0, length));
      REQUIRE((!cut.issues.empty() || cut.config == whole));
    }
  }
}

TEST_CASE("link: with one byte lost it gives the same configuration, an issue, or differs where it says so") {
  const std::string link = "v=1&model=llama2-7b&gpu=h100-sxm&tp=8&end";
  CHECK(issues_of("v=1&odel=llama2-7b&gpu=h100-sxm&tp=8&end").find("unknown_key") != std::string::npos);
  CHECK(issues_of("=1&model=llama2-7b&gpu=h100-sxm&tp=8&end").find("unknown_key") != std::string::npos);
  CHECK(issues_of("v=1model=llama2-7b&gpu=h100-sxm&tp=8&end").find("wrong_type /link/v") != std::string::npos);
  CHECK(issues_of(link + "&utm_source=chat").find("unknown_key /link/utm_source") != std::string::npos);
}

TEST_CASE("link: keys are short, plain and never the same twice") {
  std::set<std::string> keys = {"v", "end", "model", "gpu", "recipe", "preset"};
  for (const Field& field : config_fields()) {
    INFO(field.path);
    CHECK(keys.insert(field.key).second);
    CHECK(std::string(field.key).size() <= 16);
    CHECK(std::string(field.key).find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789") == std::string::npos);
  }
}

TEST_CASE("link: every link that was ever published opens as what it was") {
  const auto links = golden_links();
  REQUIRE(links.size() >= 12);
  for (const auto& [link, differences, today] : links) {
    INFO(link);
    const ReadConfig read = parse_link(link);
    CHECK(read.issues.empty());
    CHECK(write_config_differences(read.config) == differences);
    CHECK(format_link(read.config) == today);
    CHECK(parse_link(today).config == read.config);
  }
}
