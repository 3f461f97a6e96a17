// presets/README.md lists every field; its tables are those of the program.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "engine/config/fields.h"
#include "engine/text/numbers.h"
#include "tests/catch.h"
#include "tests/source_folder.h"

using namespace trainmem;

namespace {

const std::string readme = source_folder() + "/presets/README.md";

std::string default_text(const Field& field) {
  const Config defaults;
  const Member member = field.in(defaults);
  switch (member.type()) {
    case FieldType::integer:
      if (field.name() == "num_key_value_heads" || field.name() == "head_dim") return "from other sizes";
      return member.integer() == 0 && field.minimum > 0 ? "required" : std::to_string(member.integer());
    case FieldType::number: return number_text(member.number());
    case FieldType::boolean: return member.boolean() ? "true" : "false";
    case FieldType::enumeration: return member.word();
    case FieldType::text: return member.text();
  }
  return "";
}

/// The fields of one object of the configuration: "/model", "/model/experts".
std::string table(const std::string& object) {
  std::string out = "| field | link | values | default | meaning |\n| --- | --- | --- | --- | --- |\n";
  for (const Field& field : config_fields()) {
    const std::string path = field.path;
    if (path.substr(0, path.rfind('/')) != object) continue;
    std::string values = allowed_values(field);
    if (*field.unit != '\0') values += std::string(", ") + field.unit;
    out += "| `" + std::string(field.name()) + "` | `" + field.key + "` | " + values + " | " + default_text(field) +
           " | " + field.meaning + " |\n";
  }
  return out;
}

/// The text with what stands between "<!-- fields of OBJECT -->" and "<!-- end -->" written anew.
std::string with_tables(std::string text, int& tables) {
  const std::string open = "<!-- fields of ";
  for (std::size_t at = 0; (at = text.find(open, at)) != std::string::npos;) {
    const std::size_t name = at + open.size();
    const std::string object = text.substr(name, text.find(" -->", name) - name);
    const std::size_t start = text.find('\n', at) + 1;
    const std::size_t end = text.find("<!-- end -->", start);
    const std::string fresh = table(object);
    text.replace(start, end - start, fresh);
    at = start + fresh.size();
    ++tables;
  }
  return text;
}

}  // namespace

TEST_CASE("presets/README.md: the tables of fields are those of the program") {
  std::ifstream file(readme);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  int tables = 0;
  const std::string expected = with_tables(text, tables);
  CHECK(tables == 8);
  const std::string beside = source_folder() + "/presets/README.new.txt";
  if (text == expected) {
    std::remove(beside.c_str());
  } else {
    std::ofstream(beside) << expected;
    FAIL("the tables are out of date; " + beside + " has them as they should be");
  }
}
