#include "engine/border/json_io_import.h"

#include "engine/codec/json_config.h"
#include "engine/text/json_writer.h"

namespace trainmem {

std::string write_import(const Import& import) {
  JsonWriter out;
  out.open_object();
  out.key("ok").boolean(import.issues.empty());
  out.key("format").text(import.format);
  if (!import.issues.empty()) out.key("issues").raw(write_issues(import.issues));
  out.key("sections").open_array();
  if (import.has_model) out.text("model");
  if (import.has_gpu) out.text("gpu");
  if (import.has_recipe) out.text("recipe");
  out.close_array();
  out.key("config").raw(write_config_differences(import.config));
  out.key("applied").open_array();
  for (const AppliedKey& key : import.applied) {
    out.open_object();
    out.key("key").text(key.key).key("value").text(key.value).key("path").text(key.path).key("set").text(key.set);
    out.close_object();
  }
  out.close_array();
  out.key("unused").open_array();
  for (const UnusedKey& key : import.unused) {
    out.open_object();
    out.key("key").text(key.key).key("value").text(key.value).key("why").text(key.why);
    out.close_object();
  }
  out.close_array();
  out.close_object();
  return out.take();
}

}  // namespace trainmem
