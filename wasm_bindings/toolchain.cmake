# CMake toolchain for Emscripten, for `cmake --preset wasm`. Works with Debian's package (3.1.6) and with newer ones.
find_program(EM_CONFIG em-config REQUIRED)
execute_process(COMMAND ${EM_CONFIG} EMSCRIPTEN_ROOT OUTPUT_VARIABLE emscripten_root OUTPUT_STRIP_TRAILING_WHITESPACE
                COMMAND_ERROR_IS_FATAL ANY)

# Emscripten's own file passes Node an option that Node no longer knows, unless the emulator is already chosen.
find_program(TRAINMEM_NODE node REQUIRED)
set(CMAKE_CROSSCOMPILING_EMULATOR ${TRAINMEM_NODE} CACHE FILEPATH "Runs the unit tests")

# From -O2 on, the linker runs a Node script that needs acorn. Debian keeps it where only Debian's own Node looks.
set(debian_node_library /usr/share/nodejs)
if(EXISTS ${debian_node_library}/acorn)
  set(CMAKE_CXX_LINKER_LAUNCHER ${CMAKE_COMMAND} -E env NODE_PATH=${debian_node_library} CACHE STRING "")
endif()

include(${emscripten_root}/cmake/Modules/Platform/Emscripten.cmake)
