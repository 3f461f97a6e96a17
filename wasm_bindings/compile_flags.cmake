# What every source compiled to WebAssembly needs; included by the top CMakeLists.txt before any target.

# Calls at -O2 are five times as fast as at -Oz. What is not on the hot path is made small in wasm_bindings/CMakeLists.txt.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

# Instructions that every browser with WebAssembly modules of the last years has; they save a few per cent.
add_compile_options(-mbulk-memory -mnontrapping-fptoint -msign-ext)

# There is one thread. This linker refuses thread-local storage where link-time optimised objects meet others.
add_compile_definitions(thread_local=)

# The cross compiler must not see the host's include folder: the header-only libraries are copied out of it.
set(wasm_headers ${PROJECT_BINARY_DIR}/headers)
foreach(library nlohmann catch2)
  find_path(${library}_folder NAMES ${library} PATHS /usr/include /usr/local/include NO_CMAKE_FIND_ROOT_PATH
            NO_DEFAULT_PATH REQUIRED)
  file(COPY ${${library}_folder}/${library} DESTINATION ${wasm_headers})
endforeach()
foreach(target nlohmann_json::nlohmann_json Catch2::Catch2)
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} SYSTEM INTERFACE ${wasm_headers})
endforeach()
