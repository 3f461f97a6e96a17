# cmake -DPRESETS=folder -DOUTPUT=file.cpp -P embed.cmake
#
# Writes the presets as C++ arrays of JSON texts. Keys that only readers of the files need are left out, and white
# space between values, so that all presets together stay small. It relies on the layout that
# `trainmem validate-presets` enforces: two spaces of indentation, one key a line.
cmake_minimum_required(VERSION 3.25)
cmake_path(ABSOLUTE_PATH PRESETS)

set(left_out_of_models parameters active_parameters next_token_layer_parameters published_parameters
  difference notes source)
set(left_out_of_gpus memory_type bus_width_bits bandwidth_from_driver_gb_per_s fp16_dense_tflops fp8_dense_tflops
  interconnect power_w ecc memory_seen measured confidence notes sources)
set(left_out_of_recipes notes sources)
set(left_out_of_optimizers states step_temporaries rule options formula one_state_8bit ademamix8bit
  amsgrad_extra_states confidence notes sources)
set(left_out_of_memory_technologies standard used_by notes sources)

# minify(OUT TEXT KEYS...): the JSON object TEXT without KEYS and without layout.
function(minify out text)
  foreach(key IN LISTS ARGN)
    string(REGEX REPLACE "\n  \"${key}\": ([[{](\n    [^\n]*)*\n  )?[^\n]*" "" text "${text}")
  endforeach()
  string(REGEX REPLACE "\n *" "" text "${text}")
  string(REGEX REPLACE "(\"[a-z0-9_]+\"): " "\\1:" text "${text}")
  string(REPLACE ",}" "}" text "${text}")
  string(JSON members ERROR_VARIABLE error LENGTH "${text}")
  if(error)
    message(FATAL_ERROR "not a JSON object: ${error}\n${text}")
  endif()
  foreach(key IN LISTS ARGN)
    string(JSON value ERROR_VARIABLE absent GET "${text}" ${key})
    if(NOT absent)
      message(FATAL_ERROR "\"${key}\" is not laid out as one key a line with two spaces of indentation:\n${text}")
    endif()
  endforeach()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# Square brackets and semicolons have a meaning inside CMake lists; texts are only ever handled quoted.
set(source "// Written by engine/presets/embed.cmake from presets/.\n#include \"engine/presets/presets.h\"\n\nnamespace trainmem {\nnamespace {\n\n")
set(functions "")
foreach(kind IN ITEMS model gpu recipe optimizer memory_technology)
  set(folder ${kind}s)
  if(kind STREQUAL memory_technology)
    set(folder memory_technologies)
  endif()
  file(GLOB ids RELATIVE ${PRESETS}/${folder} ${PRESETS}/${folder}/*.json)
  list(TRANSFORM ids REPLACE "\\.json$" "")
  list(SORT ids COMPARE NATURAL)
  if(NOT ids)
    message(FATAL_ERROR "${PRESETS}/${folder} has no presets")
  endif()
  string(APPEND source "constexpr PresetText ${kind}_texts[] = {\n")
  foreach(id IN LISTS ids)
    file(READ ${PRESETS}/${folder}/${id}.json text)
    minify(text "${text}" ${left_out_of_${folder}})
    string(LENGTH "${text}" length)
    if(length GREATER 65000)
      message(FATAL_ERROR "${id}: longer than a string literal may be")
    endif()
    string(APPEND source "    {\"${id}\", R\"json(${text})json\"},\n")
  endforeach()
  string(APPEND source "};\n\n")
  string(APPEND functions "std::span<const PresetText> ${kind}_presets() { return ${kind}_texts; }\n")
endforeach()
string(APPEND source "}  // namespace\n\n${functions}\n}  // namespace trainmem\n")
file(WRITE ${OUTPUT} "${source}")
